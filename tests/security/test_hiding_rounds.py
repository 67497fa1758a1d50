"""Tests that the server never takes a process that Maestro started for the person, however the process hides.

All tries use the same server with a supervisor. Each try starts a process somewhere below the supervisor and hides
the process. A try can kill the server or the runner. The process asks for its identity, and for a setting that only
the person may change.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from maestro.supervisor import supervisor_process_name
from maestro.testing import rounds
from maestro.testing.beads import BeadsUser, put_on_path
from maestro.testing.live import PYTHON_CLIENT, SupervisedServer
from maestro.testing.supervised import is_running, process_identity, wait_until
from maestro.testing.workshop import MAESTRO, Workshop

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a process adopt orphans")

STANDINS = Path(__file__).parents[1] / "standins"
STEPS = ("orphan", "double_fork", "setsid", "rename")
WAYS = {"native": [str(MAESTRO)], "python": list(PYTHON_CLIENT), "tcp": []}
KILLS = {
    "agent": ("nothing", "server", "runner", "both"),
    "gate": ("nothing", "server"),
    "setup": ("nothing", "server"),
    "filter": ("nothing", "server"),
    "tracker": ("nothing", "server"),
}
ASKED = (["whoami", "--json"], ["config", "set", "events_days", "7"])
REQUESTS = (["GET", "/api/whoami", ""], ["POST", "/api/config", '{"name": "events_days", "value": "7"}'])
NO_SERVER = 8
HIDING_SECONDS_MAX = 2.0  # the longest time between the forks of a hiding process


@dataclass(frozen=True)
class Try:
    """A combination of origin, hiding, way to the server and kill."""

    number: int
    origin: str
    way: str
    kill: str
    is_kill_first: bool  # the kill comes before the process may ask, not during the request
    is_staying: bool  # the program that started the process stays until the process has its answers
    plan: dict[str, Any]

    @classmethod
    def choose(cls, number: int, chosen: random.Random) -> Try:
        origin = chosen.choice(list(KILLS))
        plan = {
            "steps": chosen.sample(STEPS, chosen.randint(1, len(STEPS))),
            "is_early": chosen.random() < 0.7,
            "is_empty": chosen.random() < 0.5,
            "is_closed": chosen.random() < 0.3,
            "argv0": chosen.choice(["", "", "maestro-supervisor", "-bash"]),
        }
        way, kill = chosen.choice(list(WAYS)), chosen.choice(KILLS[origin])
        return cls(number, origin, way, kill, chosen.random() < 0.5, chosen.random() < 0.7, plan)


class Stage:
    """A supervised server whose agents, gates, setup commands, filters and tracker play plans."""

    def __init__(self, shop: Workshop, beads: Workshop, folder: Path) -> None:
        self.shop, self.beads, self.folder = shop, beads, folder

    def prepare(self) -> None:
        """Write the programs that play plans into the checkouts before the first `init`."""
        for origin in ("setup", "filter"):
            self._write_script(origin, ends="cat" if origin == "filter" else "true")
        self.shop.run_git("config", "filter.x.smudge", f"sh {self.folder}/filter.sh")
        self.shop.run_git("config", "filter.x.clean", "cat")
        (self.shop.repo / ".gitattributes").write_text("README filter=x\n")
        settings = self.shop.repo / ".maestro" / "config.toml"
        settings.parent.mkdir()
        settings.write_text(f"[worktree]\nsetup = {json.dumps(f'sh {self.folder}/setup.sh')}\n")
        self.shop.run_git("add", "-A")
        self.shop.run_git("commit", "-qm", "filtered")
        self.shop.run_maestro("init")
        hand = BeadsUser(self.beads.repo).init()
        hand.choose_beads()
        self.beads.run_maestro("init")

    def _write_script(self, origin: str, *, ends: str) -> None:
        script = f"test -e {self.folder}/{origin}.json && {{ {self.player(origin)}; }}\n{ends}\n"
        (self.folder / f"{origin}.sh").write_text(script)

    def player(self, origin: str) -> str:
        """Return the shell command that plays the plan of an origin, and stays while the file `stay` exists."""
        play = f"{sys.executable} -I -S {STANDINS}/hidden_caller.py {self.folder}/{origin}.json"
        return f"{play}; timeout 90 sh -c 'while test -e {self.folder}/stay; do sleep 0.05; done'"

    def play(self, this: Try) -> str:
        """Play a try to its end, and return the outcome."""
        folder = self.folder / str(this.number)
        folder.mkdir()
        client = WAYS[this.way]
        plan = this.plan | {
            "home": str(self.shop.live.home),
            "folder": str(folder),
            "name": supervisor_process_name(str(self.shop.live.home)),
            "commands": [[*client, *words] for words in ASKED] if client else [],
            "requests": [] if client else REQUESTS,
        }
        if this.is_staying:
            (self.folder / "stay").touch()
        (self.folder / f"{this.origin}.json").write_text(json.dumps(plan))
        begun = self._begin(this)
        try:
            wait_until((folder / "begun").exists, what=f"the start of the process of {this}")
            wait_until(
                lambda: (folder / "ready").exists() or is_gone(folder / "begun"), what="the hiding of the process"
            )
            self._kill_and_go(this, folder)
            answers = self._answers(folder)
        finally:
            (self.folder / "stay").unlink(missing_ok=True)
            self._finish(begun)
        return outcome_of(this, answers)

    def _begin(self, this: Try) -> subprocess.Popen[bytes]:
        """Start the person's command that leads to the process of a try."""
        name = f"{this.origin}-{this.number}"
        if this.origin == "agent":
            words = ["--", "sh", "-c", self.player("agent")]
        elif this.origin == "gate":
            made = self.shop.create_task(name, "--gate", self.player("gate"))
            words = ["--task", made["id"], "--", "true"]
        elif this.origin == "tracker":
            return self.shop.live.start_command("tracker", "sync", cwd=self.beads.repo)
        else:
            words = ["--worktree", "--", "true"]
        return self.shop.live.start_command("session", "spawn", "--name", name, *words, cwd=self.shop.repo)

    def _kill_and_go(self, this: Try, folder: Path) -> None:
        go = (folder / "go").touch
        if not this.is_kill_first:
            go()
        if this.kill in ("runner", "both"):
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._runner_of(f"agent-{this.number}"), signal.SIGKILL)
        if this.kill in ("server", "both"):
            with contextlib.suppress(ProcessLookupError):
                self.shop.live.kill()
        go()

    def _runner_of(self, name: str) -> int:
        """Return the pid of the runner of a session."""
        shown = wait_until(lambda: self._shown(name), what="the session")
        note = self.shop.runner_folder(shown["id"]) / "runner.json"
        wait_until(note.exists, what="the identity file of the runner")
        return int(json.loads(note.read_bytes())["runner"])

    def _shown(self, name: str) -> dict[str, Any] | None:
        done = self.shop.live.run_command("session", "show", name, "--json", cwd=self.shop.repo)
        return json.loads(done.stdout) if done.returncode == 0 else None

    def _answers(self, folder: Path) -> list[tuple[int, str]]:
        """Return the answers, or none if the process is gone, as after the end of a session."""
        file, ready = folder / "answers", folder / "ready"
        wait_until(
            lambda: file.exists() or is_gone(ready if ready.exists() else folder / "begun"), what="the answers"
        )
        found: list[tuple[int, str]] = json.loads(file.read_text()) if file.exists() else []
        return found

    def _finish(self, begun: subprocess.Popen[bytes]) -> None:
        try:
            begun.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            begun.kill()
            begun.communicate()

    def wait_for_server(self) -> None:
        """Wait until the server answers the person as the person."""
        wait_until(lambda: self.shop.live.run_command("whoami", cwd="/").returncode == 0, what="the server")
        assert self.shop.call_json("whoami")["role"] == "person"


def is_gone(note: Path) -> bool:
    """Return whether the process that wrote its pid is gone and could have written a note under another pid."""
    is_old = time.time() - note.stat().st_mtime > HIDING_SECONDS_MAX
    return is_old and not is_running(process_identity(int(note.read_text())))


def outcome_of(this: Try, answers: list[tuple[int, str]]) -> str:
    """Return the identity of the process for the server. Fail if the identity is the person."""
    if not answers:
        return "gone"
    (code, text), (set_code, _) = answers
    told = f"{this}: {answers}"
    assert '"role":"person"' not in text, told
    assert set_code not in ((200,) if this.way == "tcp" else (0,)), told
    if code in ((0, 502, 503) if this.way == "tcp" else (NO_SERVER,)):
        return "no_answer"
    answer = json.loads(text) if text.startswith("{") else {}
    if answer.get("session"):
        return "session"
    return "nobody" if answer.get("role") == "nobody" or answer.get("code") == "not_authenticated" else "refused"


@pytest.fixture
def stage(tmp_path: Path, make_repo: Callable[..., Path]) -> Iterator[Stage]:
    """Yield a stage. A folder of its own on the server's PATH holds `bd`, which plays plans before it answers."""
    folder = tmp_path / "plans"
    folder.mkdir()
    real = put_on_path(tmp_path / "bin", STANDINS / "bd.py")
    home = tmp_path / "live"
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text("tracker_seconds = 3600\n")
    environment = {"PATH": f"{real.parent}{os.pathsep}{os.environ['PATH']}", "STANDIN_BD": "1.0.5"}
    with SupervisedServer(home, environment) as live:
        shop, beads = Workshop(live, make_repo("vc")), Workshop(live, make_repo("beads", folder="src"))
        made = Stage(shop, beads, folder)
        made._write_script("tracker", ends=real.read_text().partition("\n")[2].strip())
        (shop.repo / "README").write_text("hello\n")
        real.write_text(f"#!/bin/sh\n{(folder / 'tracker.sh').read_text()}")
        made.prepare()
        yield made
        shop.end_agents()


@pytest.mark.slow
@pytest.mark.rounds
@pytest.mark.timeout(600)
def test_the_server_never_takes_a_hidden_process_for_the_person(stage: Stage) -> None:
    played, seed = rounds.round_count(20, full=200), rounds.round_seed()
    chosen = random.Random(seed)
    outcomes: Counter[str] = Counter()
    answered: Counter[str] = Counter()
    killed: Counter[str] = Counter()
    for number in range(played):
        this = Try.choose(number, chosen)
        outcome = stage.play(this)
        outcomes[outcome] += 1
        answered[this.origin] += outcome in ("session", "nobody", "refused")
        killed[f"with_{this.kill}_killed"] += 1
        stage.wait_for_server()
    assert stage.shop.call_json("config", "get", "events_days")["settings"] == {"events_days": 90}
    assert answered.total() >= played / 2 and (played < 100 or all(answered[origin] for origin in KILLS)), answered
    rounds.report_rounds(
        "hidden processes", played, seed=seed, the_person=0, **outcomes, **killed, answered=f"{dict(answered)}"
    )
