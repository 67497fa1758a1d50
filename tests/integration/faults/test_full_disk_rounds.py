"""The disk becomes full at a random moment while agents run: each end is known, and no program runs twice."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from maestro.testing import disks, rounds
from maestro.testing.live import LiveServer
from maestro.testing.supervised import is_running, process_identity, wait_until
from maestro.testing.workshop import Workshop

AGENTS = 20
DISK_MEGABYTES = 24
FULL_SECONDS = (0.0, 3.0)  # the delay before the disk is filled
SCRIPT = "echo $$ >> {folder}/{name}.starts; while [ ! -e {folder}/{name}.go ]; do sleep 0.1; done; exit {code}"


@dataclass
class Counts:
    """The counts over all rounds."""

    stopped: int = 0
    ended: int = 0
    not_started: int = 0
    runners_killed: int = 0
    servers_killed: int = 0
    unknown: list[str] = field(default_factory=list)
    twice: list[str] = field(default_factory=list)


class Agent:
    """One agent: how a round ends the agent, and the starts that it recorded outside the disk."""

    def __init__(self, name: str, folder: Path, chance: random.Random) -> None:
        self.name = name
        self.fate = chance.choice(["stop", "end", "end", "stay"])
        self.code = chance.choice([0, 5])
        self.has_ended = False  # a session whose start failed on the full disk starts later, and has no end yet
        self._folder = folder
        self._starts = folder / f"{name}.starts"

    @property
    def words(self) -> list[str]:
        return ["sh", "-c", SCRIPT.format(folder=self._folder, name=self.name, code=self.code)]

    @property
    def starts(self) -> list[str]:
        return self._starts.read_text().split() if self._starts.exists() else []

    @property
    def is_running(self) -> bool:
        return any(is_running(process_identity(int(pid))) for pid in self.starts)

    def let_end(self) -> None:
        (self._folder / f"{self.name}.go").touch()

    def expected(self) -> tuple[str, ...]:
        """Return the correct final statuses of the session after the end of its program."""
        own = "completed" if self.code == 0 else "failed"
        return {"stop": ("stopped",), "end": (own,), "stay": ()}[self.fate]


class Round:
    """One server on one small disk, with its agents."""

    def __init__(
        self, shop: Workshop, disk: disks.SmallDisk, connect: Any, project: str, chance: random.Random, counts: Counts
    ) -> None:
        self.shop, self.disk, self.chance, self.counts = shop, disk, chance, counts
        self.connect = connect
        self.project = project
        self.folder = shop.repo / "outside"
        self.folder.mkdir()
        self.agents = [Agent(f"a{number}", self.folder, chance) for number in range(AGENTS)]

    def play(self) -> None:
        filled = threading.Timer(self.chance.uniform(*FULL_SECONDS), self.disk.fill)
        filled.start()
        workers = [threading.Thread(target=self._live, args=(self.agents[n::4],)) for n in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        filled.join()
        self._make_sure_it_is_full()
        for agent in self.agents:
            self._end(agent)
        self._kill_some()
        self.disk.free()
        if self.shop.live.process is not None and self.shop.live.process.poll() is not None:
            self.shop.live.start()
        self._check()

    def _live(self, agents: list[Agent]) -> None:
        """Start some agents, and end some of them before the others start."""
        api = self.connect(self.shop.live)
        for agent in agents:
            with contextlib.suppress(Exception):  # on a full disk the session is refused, or it starts later
                fields = {
                    "name": agent.name,
                    "tool": "command",
                    "arguments": agent.words,
                    "path": str(self.shop.repo),
                }
                api.call("POST", "/api/sessions/spawn", project=self.project, **fields)
            if agent.starts and agent.fate == "end" and agent.code == 0:
                agent.let_end()

    def _make_sure_it_is_full(self) -> None:
        self.disk.fill()
        api = self.connect(self.shop.live)
        with pytest.raises(Exception, match="storage_full"):
            for number in range(5_000):
                api.call("POST", "/api/tasks", project=self.project, title=f"t{number}")

    def _end(self, agent: Agent) -> None:
        """End the agent's program as the round planned. A program that never started has no end yet."""
        if not agent.starts or agent.fate == "stay":
            return
        if agent.fate == "end":
            agent.let_end()

        def is_over() -> bool:
            if agent.fate == "stop" and agent.is_running:
                self._ask_to_stop(agent)
            return not agent.is_running

        wait_until(is_over, what=f"the end of {agent.name}")
        agent.has_ended = True

    def _ask_to_stop(self, agent: Agent) -> None:
        api = self.connect(self.shop.live)
        with contextlib.suppress(Exception):  # the end cannot be stored: the answer is late or an error
            api.call("POST", f"/api/sessions/{agent.name}/stop", project=self.project, timeout=100)

    def _kill_some(self) -> None:
        """Kill some runners whose programs have ended, and perhaps the server."""
        gone = {int(pid) for agent in self.agents if not agent.is_running for pid in agent.starts}
        for note in self.shop.runner_notes():
            runner = (note["runner"], note["runner_started"])
            if note["program"] in gone and is_running(runner) and self.chance.random() < 0.3:
                os.kill(note["runner"], signal.SIGKILL)
                self.counts.runners_killed += 1
        if self.chance.random() < 0.3:
            self.shop.live.kill()
            self.counts.servers_killed += 1

    def _check(self) -> None:
        api = self.connect(self.shop.live)
        for agent in self.agents:
            if agent.has_ended:
                self._check_end(api, agent)
        self._stop_the_rest(api)
        for agent in self.agents:
            if len(agent.starts) > 1:
                self.counts.twice.append(f"{agent.name} {agent.fate} {agent.code}: {agent.starts}")
            self.counts.not_started += not agent.starts

    def _check_end(self, api: Any, agent: Agent) -> None:
        try:
            shown = wait_until(lambda: one if (one := self._session(api, agent))["ended_at"] else None)
        except AssertionError:
            self.counts.unknown.append(
                f"{agent.name} {agent.fate} {agent.code}: not ended: {self._state(api, agent)}"
            )
            return
        if shown["status"] not in agent.expected():
            self.counts.unknown.append(f"{agent.name} {agent.fate} {agent.code}: {shown['status']}")
        self.counts.stopped += agent.fate == "stop"
        self.counts.ended += agent.fate == "end"

    def _state(self, api: Any, agent: Agent) -> str:
        """Return the known facts about a session whose end is unknown."""
        session = self._session(api, agent)
        folder = self.shop.live.home / "sessions" / session["id"]
        files = sorted(f"{file.name} ({file.stat().st_size})" for file in folder.iterdir())
        notes = [note for note in self.shop.runner_notes() if str(note["program"]) in agent.starts]
        runners = [(note, is_running((note["runner"], note["runner_started"]))) for note in notes]
        log = (folder / "runner.log").read_text()[-500:]
        return f"{session['id']} is {session['status']}; {files}; runners {runners}; {log}"

    def _session(self, api: Any, agent: Agent) -> dict[str, Any]:
        """Return the session of an agent: of several sessions with its name, return the first that was started."""
        listed = api.call("GET", "/api/sessions", project=self.project, limit=200)["sessions"]
        return dict(next(one for one in listed if one["name"] == agent.name))

    def _stop_the_rest(self, api: Any) -> None:
        """Stop all live sessions, and leave time for a wrong restart."""

        def is_quiet() -> bool:
            listed = api.call("GET", "/api/sessions", project=self.project, limit=200)["sessions"]
            live = [one for one in listed if not one["ended_at"]]
            for one in live:
                with contextlib.suppress(Exception):
                    api.call("POST", f"/api/sessions/{one['id']}/stop", project=self.project, timeout=1000)
            return not live

        wait_until(is_quiet, what="the end of every session")


@pytest.mark.slow
@pytest.mark.rounds
@pytest.mark.timeout(300)
def test_every_end_of_a_session_is_known_after_a_full_disk(
    tmp_path: Path, make_repo: Callable[..., Path], connect: Any, init: Any
) -> None:
    many, seed, counts = rounds.round_count(2, full=50), rounds.round_seed(), Counts()
    chance = random.Random(seed)
    for number in range(many):
        with contextlib.ExitStack() as stack:
            try:
                disk = stack.enter_context(disks.mounted_disk(tmp_path / f"disk{number}", megabytes=DISK_MEGABYTES))
            except disks.CannotMount as problem:
                pytest.skip(f"a small disk cannot be mounted here: {problem}")
            live = stack.enter_context(LiveServer(disk.folder / "home"))
            repo = make_repo(f"vc{number}")
            shop = Workshop(live, repo)
            stack.callback(shop.close)
            stack.callback(disk.free)
            project = json.loads(live.run_command("init", "--json", cwd=repo).stdout)["project"]["id"]
            Round(shop, disk, connect, project, chance, counts).play()
    rounds.report_rounds(
        "full disk",
        many,
        seed=seed,
        stops=counts.stopped,
        ends=counts.ended,
        not_started=counts.not_started,
        runners_killed=counts.runners_killed,
        servers_killed=counts.servers_killed,
        ends_unknown=len(counts.unknown),
        started_twice=len(counts.twice),
    )
    assert (counts.unknown, counts.twice) == ([], [])
