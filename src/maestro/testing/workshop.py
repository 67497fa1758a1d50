"""A live server and a checkout in which real programs are spawned; whatever they leave is ended."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from maestro.runner import tree
from maestro.testing.live import PYTHON_CLIENT, LiveServer
from maestro.testing.supervised import until

MAESTRO = Path(sys.executable).with_name("maestro")  # the command, for programs that a test spawns
OVER = ("completed", "failed", "stopped", "lost")


class Workshop:
    """Commands in one checkout of one project."""

    def __init__(self, live: LiveServer, repo: Path) -> None:
        self.live = live
        self.repo = repo

    def maestro(self, *words: str, exits: int = 0, timeout: float = 60) -> str:
        """The output of a command, or what it complained of."""
        done = self.live.command(*words, cwd=self.repo, timeout=timeout)
        assert done.returncode == exits, (words, done.returncode, done.stdout.decode(), done.stderr.decode())
        return (done.stdout if exits == 0 else done.stderr).decode()

    def json(self, *words: str, exits: int = 0) -> Any:
        """What a command answers; flags stand before a program's own words."""
        at = words.index("--") if "--" in words else len(words)
        done = self.live.command(*words[:at], "--json", *words[at:], cwd=self.repo, timeout=60)
        assert done.returncode == exits, (words, done.returncode, done.stdout.decode(), done.stderr.decode())
        return json.loads(done.stdout)

    def join(self, name: str, *words: str) -> dict[str, Any]:
        """Register a session; return its record with its token."""
        made: dict[str, Any] = self.json("session", "register", "--name", name, *words)
        return made

    def lead(self, name: str = "lead", *words: str) -> dict[str, Any]:
        """Register a coordinator that may start plain programs."""
        return self.join(name, "--mode", "coordinate", "--grant", "full", *words)

    def call_as(
        self,
        session: dict[str, Any],
        *words: str,
        exits: int = 0,
        cwd: Path | None = None,
        program: Path | None = None,
    ) -> str:
        """Run a command as a session; return its output, or the error text where it must fail."""
        environment = {"MAESTRO_TOKEN": session["token"], "MAESTRO_SESSION_ID": session["id"]}
        call = [str(program)] if program else PYTHON_CLIENT
        done = subprocess.run(
            [*call, *words],
            cwd=cwd or self.repo,
            env=self.live.environment(**environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == exits, (words, done.returncode, done.stdout.decode(), done.stderr.decode())
        return (done.stdout if exits == 0 else done.stderr).decode()

    def task(self, title: str, *words: str) -> dict[str, Any]:
        made: dict[str, Any] = self.json("task", "create", title, *words)
        return made

    def status(self, ref: str) -> str:
        return str(self.json("task", "show", ref)["status"])

    def spawn(self, *words: str) -> dict[str, Any]:
        made: dict[str, Any] = self.json("session", "spawn", *words)
        return made

    def session(self, name: str) -> dict[str, Any]:
        shown: dict[str, Any] = self.json("session", "show", name)
        return shown

    def ended(self, name: str) -> dict[str, Any]:
        """A session, once its program has ended."""
        found: dict[str, Any] = until(
            lambda: one if (one := self.session(name))["ended_at"] else None, what=f"the end of {name}"
        )
        return found

    def run(self, ref: str, *words: str) -> dict[str, Any]:
        """A run to its end, as it then stands."""
        return self.run_over(self.begin(ref, *words))

    def begin(self, ref: str, *words: str) -> str:
        return str(self.json("run", ref, "--detach", *words)["id"])

    def run_over(self, run_id: str) -> dict[str, Any]:
        found: dict[str, Any] = until(
            lambda: one if (one := self.json("run", "show", run_id))["status"] in OVER else None,
            what=f"the end of {run_id}",
        )
        return found

    def folder(self, session_id: str) -> Path:
        """Its runner's."""
        return self.live.home / "runs" / session_id

    def lines(self, name: str) -> list[str]:
        path = self.repo / name
        return path.read_text().split() if path.exists() else []

    def git(self, *words: str) -> str:
        return subprocess.run(["git", *words], cwd=self.repo, check=True, capture_output=True, text=True).stdout

    def notes(self) -> list[dict[str, Any]]:
        """Who every runner and its agent are."""
        found = []
        for path in (self.live.home / "runs").glob("*/runner.json"):
            with contextlib.suppress(ValueError):
                found.append(json.loads(path.read_bytes()))
        return found

    def left(self) -> list[int]:
        """Runners and agents that are still there."""
        pairs = [(note[who], note[f"{who}_started"]) for note in self.notes() for who in ("runner", "agent")]
        return [pid for pid, started in pairs if started and tree.started(pid) == started]

    def close(self) -> None:
        """End what is left: only the very processes that were noted."""
        self.live.kill()
        self.end_agents()

    def end_agents(self) -> None:
        """End every runner and agent that is still there: only the very processes that were noted."""
        for pid in self.left():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)
