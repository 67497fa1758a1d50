"""A live server and a checkout in which tests spawn real programs. Remaining processes are ended."""

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

    def maestro(self, *arguments: str, exits: int = 0, timeout: float = 60) -> str:
        """Return the output of a command, or its error text where it must fail."""
        done = self.live.command(*arguments, cwd=self.repo, timeout=timeout)
        assert done.returncode == exits, (arguments, done.returncode, done.stdout.decode(), done.stderr.decode())
        return (done.stdout if exits == 0 else done.stderr).decode()

    def json(self, *arguments: str, exits: int = 0) -> Any:
        """Return the JSON answer of a command. `--json` is inserted before a program's own arguments."""
        at = arguments.index("--") if "--" in arguments else len(arguments)
        done = self.live.command(*arguments[:at], "--json", *arguments[at:], cwd=self.repo, timeout=60)
        assert done.returncode == exits, (arguments, done.returncode, done.stdout.decode(), done.stderr.decode())
        return json.loads(done.stdout)

    def join(self, name: str, *arguments: str) -> dict[str, Any]:
        """Register a session; return the session's record with the token."""
        session: dict[str, Any] = self.json("session", "register", "--name", name, *arguments)
        return session

    def lead(self, name: str = "lead", *arguments: str) -> dict[str, Any]:
        """Register a coordinator that may start plain programs."""
        return self.join(name, "--mode", "coordinate", "--grant", "full", *arguments)

    def call_as(
        self,
        session: dict[str, Any],
        *arguments: str,
        exits: int = 0,
        cwd: Path | None = None,
        program: Path | None = None,
    ) -> str:
        """Run a command as a session; return its output, or the error text where it must fail."""
        environment = {"MAESTRO_TOKEN": session["token"], "MAESTRO_SESSION_ID": session["id"]}
        call = [str(program)] if program else PYTHON_CLIENT
        done = subprocess.run(
            [*call, *arguments],
            cwd=cwd or self.repo,
            env=self.live.environment(**environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == exits, (arguments, done.returncode, done.stdout.decode(), done.stderr.decode())
        return (done.stdout if exits == 0 else done.stderr).decode()

    def task(self, title: str, *arguments: str) -> dict[str, Any]:
        task: dict[str, Any] = self.json("task", "create", title, *arguments)
        return task

    def status(self, ref: str) -> str:
        return str(self.json("task", "show", ref)["status"])

    def spawn(self, *arguments: str) -> dict[str, Any]:
        session: dict[str, Any] = self.json("session", "spawn", *arguments)
        return session

    def session(self, name: str) -> dict[str, Any]:
        shown: dict[str, Any] = self.json("session", "show", name)
        return shown

    def ended(self, name: str) -> dict[str, Any]:
        """Wait for the end of a session's program, and return the session."""
        found: dict[str, Any] = until(
            lambda: session if (session := self.session(name))["ended_at"] else None, what=f"the end of {name}"
        )
        return found

    def run(self, ref: str, *arguments: str) -> dict[str, Any]:
        """Start a run, wait for its end, and return the run."""
        return self.run_over(self.begin(ref, *arguments))

    def begin(self, ref: str, *arguments: str) -> str:
        return str(self.json("run", ref, "--detach", *arguments)["id"])

    def run_over(self, run_id: str) -> dict[str, Any]:
        found: dict[str, Any] = until(
            lambda: run if (run := self.json("run", "show", run_id))["status"] in OVER else None,
            what=f"the end of {run_id}",
        )
        return found

    def folder(self, session_id: str) -> Path:
        """Return the folder of a session's runner."""
        return self.live.home / "runs" / session_id

    def lines(self, name: str) -> list[str]:
        path = self.repo / name
        return path.read_text().split() if path.exists() else []

    def git(self, *arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=self.repo, check=True, capture_output=True, text=True).stdout

    def notes(self) -> list[dict[str, Any]]:
        """Return the identity notes of every runner and its agent."""
        found = []
        for path in (self.live.home / "runs").glob("*/runner.json"):
            with contextlib.suppress(ValueError):
                found.append(json.loads(path.read_bytes()))
        return found

    def left(self) -> list[int]:
        """Return the pids of runners and agents that still run."""
        pairs = [(note[role], note[f"{role}_started"]) for note in self.notes() for role in ("runner", "agent")]
        return [pid for pid, started in pairs if started and tree.started(pid) == started]

    def close(self) -> None:
        """Kill the server, and end the remaining runners and agents."""
        self.live.kill()
        self.end_agents()

    def end_agents(self) -> None:
        """End every runner and agent that still runs. Only recorded processes are ended."""
        for pid in self.left():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)
