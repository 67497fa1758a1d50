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

from maestro.runner import process_tree
from maestro.testing.live import PYTHON_CLIENT, LiveServer
from maestro.testing.supervised import wait_until
from maestro.wire import runner_folder

MAESTRO = Path(sys.executable).with_name("maestro")  # the command, for programs that a test spawns
FINAL_STATUSES = ("completed", "failed", "stopped", "lost")


class Workshop:
    """Commands in one checkout of one project."""

    def __init__(self, live: LiveServer, repo: Path) -> None:
        self.live = live
        self.repo = repo

    def run_maestro(self, *arguments: str, exits: int = 0, timeout: float = 60) -> str:
        """Return the output of a command, or its error text where it must fail."""
        done = self.live.run_command(*arguments, cwd=self.repo, timeout=timeout)
        assert done.returncode == exits, (arguments, done.returncode, done.stdout.decode(), done.stderr.decode())
        return (done.stdout if exits == 0 else done.stderr).decode()

    def call_json(self, *arguments: str, exits: int = 0) -> Any:
        """Return the JSON answer of a command. `--json` is inserted before a program's own arguments."""
        at = arguments.index("--") if "--" in arguments else len(arguments)
        done = self.live.run_command(*arguments[:at], "--json", *arguments[at:], cwd=self.repo, timeout=60)
        assert done.returncode == exits, (arguments, done.returncode, done.stdout.decode(), done.stderr.decode())
        return json.loads(done.stdout)

    def register_session(self, name: str, *arguments: str) -> dict[str, Any]:
        """Register a session; return the session's record with the token."""
        session: dict[str, Any] = self.call_json("session", "register", "--name", name, *arguments)
        return session

    def register_coordinator(self, name: str = "lead", *arguments: str) -> dict[str, Any]:
        """Register a coordinator that may start plain programs."""
        return self.register_session(name, "--mode", "coordinate", "--grant", "full", *arguments)

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

    def create_task(self, title: str, *arguments: str) -> dict[str, Any]:
        task: dict[str, Any] = self.call_json("task", "create", title, *arguments)
        return task

    def task_status(self, ref: str) -> str:
        return str(self.call_json("task", "show", ref)["status"])

    def spawn_session(self, *arguments: str) -> dict[str, Any]:
        session: dict[str, Any] = self.call_json("session", "spawn", *arguments)
        return session

    def show_session(self, name: str) -> dict[str, Any]:
        shown: dict[str, Any] = self.call_json("session", "show", name)
        return shown

    def wait_for_session_end(self, name: str) -> dict[str, Any]:
        """Wait for the end of a session's program, and return the session."""
        found: dict[str, Any] = wait_until(
            lambda: session if (session := self.show_session(name))["ended_at"] else None, what=f"the end of {name}"
        )
        return found

    def run_to_end(self, ref: str, *arguments: str) -> dict[str, Any]:
        """Start a run, wait for its end, and return the run."""
        return self.wait_for_run_end(self.start_run(ref, *arguments))

    def start_run(self, ref: str, *arguments: str) -> str:
        return str(self.call_json("run", ref, "--detach", *arguments)["id"])

    def wait_for_run_end(self, run_id: str) -> dict[str, Any]:
        found: dict[str, Any] = wait_until(
            lambda: run if (run := self.call_json("run", "show", run_id))["status"] in FINAL_STATUSES else None,
            what=f"the end of {run_id}",
        )
        return found

    def runner_folder(self, session_id: str) -> Path:
        """Return the folder of a session's runner."""
        return self.live.home / runner_folder.SESSIONS / session_id

    def read_words(self, name: str) -> list[str]:
        path = self.repo / name
        return path.read_text().split() if path.exists() else []

    def run_git(self, *arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=self.repo, check=True, capture_output=True, text=True).stdout

    def runner_notes(self) -> list[dict[str, Any]]:
        """Return the identity notes of every runner and its agent."""
        found = []
        for path in (self.live.home / runner_folder.SESSIONS).glob(f"*/{runner_folder.IDENTITY}"):
            with contextlib.suppress(ValueError):
                found.append(json.loads(path.read_bytes()))
        return found

    def remaining_pids(self) -> list[int]:
        """Return the pids of runners and agents that still run."""
        pairs = [
            (note[role], note[f"{role}_started"]) for note in self.runner_notes() for role in ("runner", "program")
        ]
        return [pid for pid, started in pairs if started and process_tree.process_start(pid) == started]

    def close(self) -> None:
        """Kill the server, and end the remaining runners and agents."""
        self.live.kill()
        self.end_agents()

    def end_agents(self) -> None:
        """End every runner and agent that still runs. Only recorded processes are ended."""
        for pid in self.remaining_pids():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)
