"""Sessions recover after the end of their program, runner, server or machine."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from maestro.client.server_start import SESSION_MARKS
from maestro.core import limits
from maestro.server.secrets import Secrets
from maestro.testing.live import PYTHON_CLIENT
from maestro.testing.supervised import process_identity, wait_until
from maestro.testing.workshop import Workshop
from maestro.tools import environments

# Ignores a hang-up, records its start and its task prompt, spawns its worker once, and stays.
LEAD = r"""
trap '' HUP
echo "$MAESTRO_SESSION_ID:$MAESTRO_TOKEN" >> starts
cp "$MAESTRO_TASK_PROMPT_FILE" "prompt-$(wc -l < starts | tr -d ' ')"
test -e spawned || maestro session spawn --name w --task "#1" -- sh -c \
  'trap "" HUP; echo "$MAESTRO_SESSION_ID" >> works; exec sleep 1000'
touch spawned
echo up >> up
exec sleep 1000
"""


def lead(shop: Workshop, *words: str, script: str = LEAD) -> dict[str, Any]:
    return shop.spawn_session(
        "--name", "lead", "--mode", "coordinate", "--grant", "full", *words, "--", "sh", "-c", script
    )


@pytest.fixture
def team(shop: Workshop) -> tuple[str, str]:
    """Start a coordinator and its worker; return the ids of both sessions."""
    shop.create_task("Parser")
    made = lead(shop)
    wait_until(lambda: shop.read_words("up") and shop.read_words("works"), what="the start of both programs")
    worker = shop.show_session("w")
    wait_until(lambda: shop.show_session("w")["status"] == "working", what="the report of the worker's start")
    return made["id"], worker["id"]


def note(shop: Workshop, session_id: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((shop.runner_folder(session_id) / "runner.json").read_bytes())
    return found


def started(shop: Workshop, times: int) -> list[str]:
    """Return the id and token of the coordinator at each start, after the given number of starts."""
    wait_until(lambda: len(shop.read_words("up")) == times, what=f"start {times}")
    wait_until(lambda: shop.show_session("lead")["status"] == "working", what="the report of the start")
    return shop.read_words("starts")


def kill_runner(shop: Workshop, session_id: str) -> None:
    os.kill(note(shop, session_id)["runner"], signal.SIGKILL)


def kill_agent(shop: Workshop, session_id: str) -> None:
    os.killpg(note(shop, session_id)["program"], signal.SIGKILL)


@pytest.mark.parametrize("kill", [kill_runner, kill_agent], ids=["its runner dies", "its program dies"])
def test_a_coordinator_is_restarted_as_the_same_session(
    shop: Workshop, team: tuple[str, str], kill: Callable[[Workshop, str], None]
) -> None:
    boss, worker = team
    kill(shop, boss)
    first, second = started(shop, 2)
    assert first == second and first.startswith(boss), "not the same session with the same token"
    assert shop.show_session("w")["parent_id"] == boss
    subjects = [one["subject"] for one in shop.call_json("mail", "inbox", "--of", "w", "--all")["messages"]]
    assert "Your coordinator lead is started again" in subjects
    assert shop.read_words("works") == [worker], "the worker must not be started again"
    assert not shop.call_json("ask", "list")["asks"]


def test_the_prompt_of_a_restarted_session_begins_with_the_mail_of_the_meantime(
    shop: Workshop, team: tuple[str, str]
) -> None:
    boss, _ = team
    sent = shop.call_json("mail", "send", "lead", "--subject", "The plan", "--message", "Is <it> still the same?")
    kill_runner(shop, boss)
    started(shop, 2)
    prompt = (shop.repo / "prompt-2").read_text()
    head, _, rest = prompt.partition("<session ")
    assert "<resumed " in head and 'ended_as="lost"' in head and rest
    assert f'id="{sent["id"]}"' in head and "Is &lt;it&gt; still the same?" in head
    assert "<resumed " not in (shop.repo / "prompt-1").read_text()
    unread = shop.call_json("mail", "inbox", "--of", "lead")["messages"]
    assert "The plan" in [one["subject"] for one in unread], "the mail stays unread in the mailbox"


@pytest.mark.parametrize(
    "script",
    ["maestro session report complete done; exit 1", "exit 0", "maestro session end"],
    ids=["after its report", "well", "by its own word"],
)
def test_a_session_that_ended_itself_stays_ended(shop: Workshop, script: str) -> None:
    made = lead(shop, script=f"echo x >> n; {script}")
    shop.wait_for_session_end("lead")
    wait_until(lambda: not shop.remaining_pids(), what="the end of every process")
    shop.live.stop()
    shop.live.start()
    assert shop.show_session(made["id"])["ended_at"] and shop.read_words("n") == ["x"]
    assert shop.call_json("recovery") | {"started_at": ""} == {
        "started_at": "", "rebooted": False, "sessions": [], "runs": []
    }  # fmt: skip


def test_a_stopped_session_stays_stopped(shop: Workshop, team: tuple[str, str]) -> None:
    boss, _ = team
    shop.run_maestro("session", "stop", "lead")
    assert shop.wait_for_session_end(boss)["status"] == "stopped"
    shop.live.kill()
    shop.live.start()
    assert [(one["name"], one["state"]) for one in shop.call_json("recovery")["sessions"]] == [("w", "alive")]
    assert shop.show_session(boss)["status"] == "stopped" and len(shop.read_words("up")) == 1


@pytest.mark.slow
def test_the_workers_of_a_session_that_crashes_repeatedly_are_adopted(shop: Workshop) -> None:
    shop.create_task("Parser")
    (shop.repo / "crash").write_text(LEAD.replace("exec sleep 1000\n", "exit 7\n"))
    begin = "maestro session spawn --name lead --mode coordinate --grant full -- sh crash; exec sleep 1000"
    above = shop.spawn_session("--name", "above", "--mode", "coordinate", "--grant", "full", "--", "sh", "-c", begin)
    wait_until(lambda: shop.read_words("works"), what="the start of the worker")
    wait_until(lambda: shop.show_session("w")["parent_id"] == above["id"], what="the adoption")
    assert len(shop.read_words("up")) == 1 + len(limits.resume_delays_seconds)
    assert shop.show_session("lead")["status"] == "failed"
    for mailbox, subject in (
        ("above", "You are the coordinator of lead's workers now"),
        ("w", "above is your coordinator now"),
    ):
        found = [one["subject"] for one in shop.call_json("mail", "inbox", "--of", mailbox, "--all")["messages"]]
        assert found.count(subject) == 1
    assert not shop.call_json("ask", "list")["asks"]


def test_all_sessions_are_restarted_after_a_reboot_and_up_reports_them(
    shop: Workshop, team: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    boss, worker = team
    for name in (*SESSION_MARKS, *environments.AGENT_MARKS):  # only the person starts a server
        monkeypatch.delenv(name, raising=False)
    shop.create_task("All of it")
    shop.create_task("Part", "--parent", "#2")
    run_id = shop.start_run("#2", "--", "sh", "-c", "echo x >> part; test $(wc -l < part) -ge 2 || exec sleep 1000")
    wait_until(lambda: shop.read_words("part") and len(shop.runner_notes()) == 3, what="the start of the run")
    power_cut(shop)
    pretend_reboot(shop)
    up = shop.live.start_command("up", "--port", "0", "--json", program=PYTHON_CLIENT)
    said = json.loads(up.communicate(timeout=60)[0])
    try:
        found = {one["name"]: one["state"] for one in said["recovery"]["sessions"] if one["id"] in (boss, worker)}
        assert found == {"lead": "resumed", "w": "resumed"}
        assert said["recovery"]["rebooted"] and said["started"]
        assert [run["id"] for run in said["recovery"]["runs"]] == [run_id]
        first, second = started(shop, 2)
        assert first == second
        wait_until(lambda: shop.read_words("works") == [worker, worker], what="the worker's second start")
        assert shop.call_json("task", "show", "#1")["holder"] == worker
        assert shop.wait_for_run_end(run_id)["status"] == "completed", "the run makes one more attempt"
        assert len(shop.read_words("part")) == 2
        text = shop.run_maestro("up")
        assert "2 sessions started again: lead, w" in text and f"{run_id} of vc#2" in text
    finally:
        shop.run_maestro("down")


def power_cut(shop: Workshop) -> None:
    """Kill the server, the runners and the agents at once."""
    notes = shop.runner_notes()
    shop.live.kill()
    for one in notes:
        os.kill(one["runner"], signal.SIGKILL)
    for one in notes:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(one["program"], signal.SIGKILL)
    wait_until(lambda: not shop.remaining_pids(), what="the end of every process")


def pretend_reboot(shop: Workshop) -> None:
    """Change all recorded process identities to an earlier start of the machine."""
    with contextlib.closing(sqlite3.connect(shop.live.home / "maestro.db")) as database, database:
        database.execute(
            "UPDATE sessions SET pid_started = substr(pid_started, 1, instr(pid_started, '@')) || 'before'"
        )
    for path in (shop.live.home / "sessions").glob("*/runner.json"):
        told = json.loads(path.read_bytes())
        for who in ("runner_started", "program_started"):
            told[who] = told[who].partition("@")[0] + "@before"
        path.write_text(json.dumps(told))


def test_another_process_with_the_same_pid_after_a_reboot_is_not_killed(
    shop: Workshop, team: tuple[str, str]
) -> None:
    """The process has the pid of an agent, and started at the same moment after the start of the machine."""
    boss, _ = team
    power_cut(shop)
    other = shop.live.start_command(program=["sleep", "1000"])
    pid, begun = process_identity(other.pid)
    note_of = shop.runner_folder(boss) / "runner.json"
    note_of.write_text(json.dumps(note(shop, boss) | {"program": pid, "program_started": begun}))
    with contextlib.closing(sqlite3.connect(shop.live.home / "maestro.db")) as database, database:
        database.execute("UPDATE sessions SET pid = ?, pid_started = ? WHERE id = ?", (pid, begun, boss))
    pretend_reboot(shop)
    shop.live.start()
    try:
        started(shop, 2)
        assert other.poll() is None, "a foreign process was killed"
    finally:
        other.kill()
        other.communicate()


@pytest.mark.slow
def test_sessions_are_restarted_after_a_shutdown_of_the_machine(shop: Workshop, team: tuple[str, str]) -> None:
    """The system signals every process to end. Such a signal is not a stop by the person."""
    boss, worker = team
    notes = [note(shop, one) for one in team]
    shop.live.stop()
    for one in notes:
        os.kill(one["runner"], signal.SIGTERM)
    wait_until(lambda: not shop.remaining_pids(), what="the end of every process")
    shop.live.start()
    fates = {one["name"]: one["state"] for one in shop.call_json("recovery")["sessions"]}
    assert fates == {"lead": "resumed", "w": "resumed"}
    started(shop, 2)
    wait_until(lambda: shop.read_words("works") == [worker, worker], what="the worker's second start")
    assert shop.show_session(boss)["status"] == "working"


def test_a_new_server_leaves_live_sessions_alone(shop: Workshop, team: tuple[str, str]) -> None:
    shop.live.kill()
    shop.live.start()
    found = shop.call_json("recovery")
    assert {(one["name"], one["state"]) for one in found["sessions"]} == {("lead", "alive"), ("w", "alive")}
    assert not found["rebooted"]
    assert "2 sessions found alive: lead, w" in shop.run_maestro("recovery")
    assert len(shop.read_words("up")) == 1 and len(shop.read_words("works")) == 1


def test_reports_of_a_runner_of_an_earlier_start_are_ignored(shop: Workshop, team: tuple[str, str]) -> None:
    boss, _ = team
    kill_runner(shop, boss)
    (_, said) = started(shop, 2)
    env = {"MAESTRO_TOKEN": said.partition(":")[2]}
    late = json.dumps({"kind": "exited", "epoch": 1, "code": 0, "tail": "late"})
    secret = Secrets(shop.live.home).runner_secret(boss, 2)
    refused = shop.live.run_command("runner", "report", "--secret", secret, late, cwd=shop.repo, env=env)
    assert refused.returncode == 5 and b"was started again" in refused.stderr
    stale = json.dumps({"kind": "started", "pid": 1, "pid_started": "1", "runner": 1})
    assert (
        shop.live.run_command("runner", "report", "--secret", secret, stale, cwd=shop.repo, env=env).returncode == 5
    )
    shop.live.kill()
    (shop.runner_folder(boss) / "spool.json").write_text(f"[{late}]")  # reports in the spool are ignored too
    shop.live.start()
    shop.call_json("recovery")
    now = shop.show_session("lead")
    assert (now["status"], now["pid"]) == ("working", note(shop, boss)["program"])
    assert note(shop, boss)["epoch"] == 2


def test_a_worker_without_a_coordinator_is_restarted_in_its_directory(shop: Workshop) -> None:
    shop.create_task("Parser")
    script = 'echo half >> work; pwd >> "$PLACE"; git rev-parse --abbrev-ref HEAD >> "$PLACE"; exec sleep 1000'
    place = shop.repo.parent / "place"
    made = shop.spawn_session(
        "--name", "w", "--task", "#1", "--worktree", "--", "env", f"PLACE={place}", "sh", "-c", script
    )  # fmt: skip
    wait_until(lambda: place.exists() and len(place.read_text().split()) == 2, what="the start of the worker")
    kill_runner(shop, made["id"])
    wait_until(lambda: len(place.read_text().split()) == 4, what="the second start of the worker")
    first, second = place.read_text().split()[:2], place.read_text().split()[2:]
    assert first == second and first == [made["directory"], made["branch"]]
    assert (Path(made["directory"]) / "work").read_text() == "half\nhalf\n"
    assert shop.call_json("task", "show", "#1")["holder"] == made["id"]


def test_a_live_coordinator_decides_about_its_lost_worker(shop: Workshop, team: tuple[str, str]) -> None:
    boss, worker = team
    kill_runner(shop, worker)
    assert shop.wait_for_session_end(worker)["status"] == "lost"
    assert shop.call_json("task", "show", "#1")["ready"]
    shop.run_maestro("session", "resume", "w")
    wait_until(lambda: shop.read_words("works") == [worker, worker], what="the second start of the worker")
    assert shop.show_session(worker)["parent_id"] == boss


@pytest.mark.slow
def test_without_a_coordinator_above_the_person_decides_about_the_workers(shop: Workshop) -> None:
    shop.create_task("Parser")
    crash = LEAD.replace("exec sleep 1000\n", "test -e mended || exit 7; exec sleep 1000\n")
    made = lead(shop, script=crash)
    (ask,) = wait_until(lambda: shop.call_json("ask", "list")["asks"], what="the ask")
    assert ask["session_id"] == made["id"] and ask["choices"] == ["resume", "stop its workers", "leave them"]
    assert shop.show_session("w")["status"] == "working"
    (shop.repo / "mended").touch()
    shop.run_maestro("ask", "answer", ask["id"], "resume")
    started(shop, 2 + len(limits.resume_delays_seconds))
    assert shop.show_session("lead")["id"] == made["id"]
    assert [one["name"] for one in shop.show_session("lead")["workers"]] == ["w"]
    assert not shop.call_json("ask", "list")["asks"]


@pytest.mark.slow
def test_the_workers_are_stopped_when_the_person_chooses_so(shop: Workshop) -> None:
    shop.create_task("Parser")
    process = shop.live.start_command(program=["sleep", "1000"])
    env = {"MAESTRO_TOKEN": shop.register_coordinator("lead", "--pid", str(process.pid))["token"]}
    spawn = ["session", "spawn", "--name", "w", "--task", "#1", "--", "sleep", "1000"]
    assert shop.live.run_command(*spawn, cwd=shop.repo, env=env).returncode == 0
    wait_until(lambda: shop.show_session("w")["status"] == "working", what="the start of the worker")
    process.kill()
    process.communicate()
    (ask,) = wait_until(lambda: shop.call_json("ask", "list")["asks"], what="the ask")
    assert "resume" not in ask["choices"], "Maestro does not know how the program was started"
    shop.run_maestro("ask", "answer", ask["id"], "stop")
    assert shop.wait_for_session_end("w")["status"] == "stopped"
    assert shop.call_json("task", "show", "#1")["ready"]


def test_the_run_of_a_coordinator_continues_after_the_restart_of_the_coordinator(shop: Workshop) -> None:
    shop.create_task("All of it")
    parts = [shop.create_task("Part", "--parent", "#1") for _ in range(3)]
    script = 'echo x >> n; test -e ran || maestro run "#1" --max-parallel 1 --detach -- sh part; touch ran; exec cat'
    (shop.repo / "part").write_text('echo "$MAESTRO_SESSION_ID" >> order; while [ ! -e go ]; do sleep 0.01; done\n')
    made = lead(shop, script=script)
    wait_until(lambda: shop.read_words("order"), what="the start of the first part")
    kill_runner(shop, made["id"])
    (shop.repo / "go").touch()
    wait_until(lambda: shop.task_status("#1") == "completed", what="the completion of all tasks")
    assert len(shop.read_words("order")) == len(parts), "no part may run twice"
    assert {shop.show_session(one)["parent_id"] for one in shop.read_words("order")} == {made["id"]}
    wait_until(lambda: shop.read_words("n") == ["x", "x"], what="the second start of the coordinator")


# A set-up command that does nothing without the file `slow`. Else it records its start and waits for the file `go`.
SLOW = "[ ! -e {repo}/slow ] || {{ echo x >> {repo}/begun; until [ -e {repo}/go ]; do sleep 0.02; done; }}"


def slow_set_ups(shop: Workshop) -> None:
    (shop.repo / ".maestro").mkdir()
    (shop.repo / ".maestro" / "config.toml").write_text(f'[worktree]\nsetup = "{SLOW.format(repo=shop.repo)}"\n')


@pytest.mark.slow
def test_a_slow_set_up_does_not_delay_the_restart_of_other_sessions(shop: Workshop) -> None:
    slow_set_ups(shop)
    script = f'trap "" HUP; echo "$MAESTRO_SESSION_ID" >> {shop.repo}/works; exec sleep 1000'
    made = []
    for name, words in (("a", ["--worktree"]), ("b", ["--worktree"]), ("c", [])):
        task = shop.create_task(name)["ref"]
        made.append(shop.spawn_session("--name", name, "--task", task, *words, "--", "sh", "-c", script)["id"])
    wait_until(lambda: len(shop.read_words("works")) == 3, what="the start of all programs")
    (shop.repo / "slow").touch()
    power_cut(shop)
    shop.live.start()
    wait_until(
        lambda: shop.read_words("works").count(made[2]) == 2, what="the restart of the session without a set-up"
    )
    wait_until(lambda: len(shop.read_words("begun")) == 2, what="the start of both set-ups")
    found = {one["name"]: one["state"] for one in shop.call_json("recovery")["sessions"]}
    assert found == dict.fromkeys("abc", "resumed")
    (shop.repo / "go").touch()
    wait_until(lambda: sorted(shop.read_words("works")) == sorted(made * 2), what="the restart of all programs")
    assert len(shop.read_words("begun")) == 2, "no set-up may run twice"


@pytest.mark.slow
def test_set_ups_that_a_killed_server_had_begun_run_again_in_parallel(shop: Workshop) -> None:
    slow_set_ups(shop)
    shop.create_task("All of it")
    for title in ("One", "Two"):
        shop.create_task(title, "--parent", "#1")
    (shop.repo / "slow").touch()
    run = shop.start_run("#1", "--worktree", "--", "true")
    wait_until(lambda: len(shop.read_words("begun")) == 2, what="the start of both set-ups")
    shop.live.kill()
    shop.live.start()
    wait_until(lambda: len(shop.read_words("begun")) == 4, what="the second start of both set-ups")
    assert shop.call_json("recovery")["runs"]
    shop.live.stop()  # the next server also completes starts that a stop interrupts
    shop.live.start()
    wait_until(lambda: len(shop.read_words("begun")) == 6, what="the third start of both set-ups")
    (shop.repo / "go").touch()
    over = shop.wait_for_run_end(run)
    assert over["status"] == "completed" and [one["attempts"] for one in over["tasks"]] == [1, 1]
