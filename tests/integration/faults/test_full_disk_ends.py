"""A session that ends while the disk is full stays ended: no stop is undone, and no program runs twice."""

from __future__ import annotations

import contextlib
import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from maestro.testing import disks
from maestro.testing.live import LiveServer
from maestro.testing.supervised import SupervisedRunner, is_running, process_identity, wait_until
from maestro.testing.workshop import Workshop
from maestro.wire import end_record

WRITES_MAX = 2_000


class Shop(Workshop):
    """A workshop with its data directory on a small disk. The checkout lies outside the disk."""

    def __init__(self, live: LiveServer, repo: Path, disk: disks.SmallDisk, api: Any, project: str) -> None:
        super().__init__(live, repo)
        self.disk = disk
        self._api = api
        self._project = project

    def fill(self) -> None:
        """Fill the disk, then the log of the database, until the server can store nothing."""
        self.disk.fill()
        for number in range(WRITES_MAX):
            try:
                self._api.call("POST", "/api/tasks", project=self._project, title=f"t{number}")
            except Exception as error:  # noqa: BLE001 (checked below)
                assert error.body["code"] == "storage_full", error  # type: ignore[attr-defined]
                return
        raise AssertionError("the disk was never full")

    def agent(self, name: str, script: str) -> dict[str, Any]:
        """Start an agent that records each start outside the small disk, and wait until the agent runs."""
        made = self.spawn_session("--name", name, "--", "sh", "-c", f"echo $$ >> {name}.starts; {script}")
        wait_until(lambda: self.show_session(name)["status"] == "working", what=f"the start of {name}")
        wait_until(lambda: self.read_words(f"{name}.starts"), what=f"the program of {name}")
        return made

    def starts(self, name: str) -> int:
        return len(self.read_words(f"{name}.starts"))

    def runner(self, session_id: str) -> tuple[int, str]:
        note = json.loads((self.runner_folder(session_id) / "runner.json").read_bytes())
        return note["runner"], note["runner_started"]

    def agent_process(self, name: str) -> tuple[int, str]:
        return process_identity(int(self.read_words(f"{name}.starts")[0]))

    def assert_ended_once(self, name: str, status: str) -> None:
        """Assert that the session has this status, and that its program was started only once."""
        assert self.wait_for_session_end(name)["status"] == status
        events = self.run_maestro("events", "--json", "--limit", "500", "--kind", "session.resumed")
        assert (self.starts(name), events) == (1, "")


@pytest.fixture
def shop(tmp_path: Path, make_repo: Callable[..., Path], connect: Any, init: Any) -> Iterator[Shop]:
    with contextlib.ExitStack() as stack:
        try:
            disk = stack.enter_context(disks.mounted_disk(tmp_path / "disk", megabytes=8))
        except disks.CannotMount as problem:
            pytest.skip(f"a small disk cannot be mounted here: {problem}")
        repo = make_repo("vc")
        live = LiveServer(disk.folder / "home")
        live.log = tmp_path / "server.log"  # outside the disk, because a full disk accepts no lines
        stack.enter_context(live)
        api = connect(live)
        made = Shop(live, repo, disk, api, init(api, "fill"))
        stack.callback(made.close)
        yield made


def test_a_session_that_is_stopped_on_a_full_disk_stays_stopped(shop: Shop) -> None:
    shop.agent("one", "exec sleep 1000")
    program = shop.agent_process("one")
    shop.fill()
    shop.live.run_command("session", "stop", "one", "--timeout", "1s", cwd=shop.repo)
    wait_until(lambda: not is_running(program), what="the end of the program")
    shop.disk.free()
    shop.assert_ended_once("one", "stopped")


def test_a_program_that_ends_on_a_full_disk_is_not_run_again(shop: Shop) -> None:
    shop.agent("one", "while [ ! -e go ]; do sleep 0.01; done; exit 5")
    program = shop.agent_process("one")
    shop.fill()
    (shop.repo / "go").touch()
    wait_until(lambda: not is_running(program), what="the end of the program")
    shop.disk.free()
    shop.assert_ended_once("one", "failed")
    assert "exit code 5" in json.dumps(shop.call_json("session", "explain", "one"))


def test_the_end_of_a_program_outlives_its_runner_on_a_full_disk(shop: Shop) -> None:
    """The runner writes the end into space that it reserved before the program started."""
    made = shop.agent("one", "while [ ! -e go ]; do sleep 0.01; done; exit 5")
    program, runner = shop.agent_process("one"), shop.runner(made["id"])
    shop.fill()
    (shop.repo / "go").touch()
    control = shop.runner_folder(made["id"]) / "control.sock"
    wait_until(lambda: not is_running(program) and not control.exists(), what="the end of the session")
    kill(runner)
    shop.disk.free()
    shop.assert_ended_once("one", "failed")
    assert "exit code 5" in json.dumps(shop.call_json("session", "explain", "one"))


def test_the_end_of_a_session_outlives_runner_and_server_on_a_full_disk(shop: Shop) -> None:
    made = shop.agent("one", "exec sleep 1000")
    runner = shop.runner(made["id"])
    shop.fill()
    shop.live.run_command("session", "stop", "one", "--timeout", "1s", cwd=shop.repo)
    wait_until(lambda: not (shop.runner_folder(made["id"]) / "control.sock").exists(), what="the end of the session")
    shop.live.kill()
    kill(runner)
    shop.disk.free()
    shop.live.start()
    shop.assert_ended_once("one", "stopped")


def test_a_stop_outlives_a_runner_that_is_killed_before_the_program_ends(shop: Shop) -> None:
    """The runner stores the request to stop before it signals the program."""
    made = shop.agent("one", "trap '' TERM; echo ready > ready; while :; do sleep 0.05; done")
    wait_until(lambda: shop.read_words("ready"), what="the program's trap")
    program, runner = shop.agent_process("one"), shop.runner(made["id"])
    shop.fill()
    shop.live.run_command("session", "stop", "one", "--timeout", "0.2s", cwd=shop.repo)
    kill(runner)
    shop.disk.free()
    shop.assert_ended_once("one", "stopped")
    wait_until(lambda: not is_running(program), what="the end of the program")


def test_a_session_is_not_lost_while_its_runner_keeps_the_report_of_its_end(shop: Shop) -> None:
    """The process watch sees the end of the program first. The runner's report takes precedence."""
    shop.agent("one", "while [ ! -e go ]; do sleep 0.01; done; exit 5")
    program = shop.agent_process("one")
    shop.fill()
    (shop.repo / "go").touch()
    wait_until(lambda: not is_running(program), what="the end of the program")
    shop.live.kill()
    shop.disk.free()
    shop.live.start()
    shop.assert_ended_once("one", "failed")


def kill(process: tuple[int, str]) -> None:
    """Kill a runner if the runner still lives."""
    if is_running(process):
        os.kill(process[0], signal.SIGKILL)
        wait_until(lambda: not is_running(process), what="the end of the runner")


@pytest.mark.slow
@pytest.mark.parametrize("terminal", [True, False], ids=["terminal", "pipes"])
def test_a_full_disk_does_not_end_a_runner(tmp_path: Path, terminal: bool) -> None:
    """The runner starts a new transcript file and writes its log while the disk is full."""
    script = "echo up > $OUTSIDE/up; until [ -e $OUTSIDE/go ]; do sleep 0.01; done; seq 20000; exit 5"
    with contextlib.ExitStack() as stack:
        try:
            disk = stack.enter_context(disks.mounted_disk(tmp_path / "disk", megabytes=1))
        except disks.CannotMount as problem:
            pytest.skip(f"a small disk cannot be mounted here: {problem}")
        environment = {"PATH": os.environ["PATH"], "OUTSIDE": str(tmp_path)}
        order = {"environment": environment, "transcript_bytes_max": 4_000, "terminal": terminal}
        one = SupervisedRunner(disk.folder / "run", ["sh", "-c", script], **order)
        stack.callback(one.end_processes)
        wait_until(lambda: (tmp_path / "up").exists(), what="the start of the program")
        disk.fill()
        (tmp_path / "go").touch()
        wait_until(
            lambda: (end_record.read_record(one.folder) or {}).get("tail"), what="the record of the program's end"
        )
        disk.free()
        assert one.wait_for_report("exited")["code"] == 5
        assert one.process.wait(30) == 0
        for line in (one.folder / "transcript.cast").read_text().splitlines():
            json.loads(line)  # each line of the transcript is complete


def test_a_claim_that_could_not_be_renewed_on_a_full_disk_stays_with_its_holder(shop: Shop, connect: Any) -> None:
    """The lease of the claim ended while nothing could be stored. The holder gets time to renew the lease."""
    own = shop.call_json("session", "register", "--name", "worker")
    task = shop.create_task("t")
    worker = connect(shop.live, own["token"])
    before = worker.call("POST", f"/api/tasks/{task['id']}/start", lease=5_000)["lease_until"]
    shop.fill()
    wait_until(
        lambda: "background job expired-claims" in shop.live.log.read_text(), what="the end of the claim's lease"
    )
    shop.disk.free()
    worker = connect(shop.live, own["token"])
    shown = wait_until(lambda: one if (one := worker.task(task["id"]))["lease_until"] != before else None)
    assert (shown["status"], shown["holder"]) == ("in_progress", own["id"])
    assert worker.call("POST", "/api/sessions/heartbeat")["renewed"] == 1
