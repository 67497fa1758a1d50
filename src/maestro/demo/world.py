"""The environment of the demonstration: a data directory, a git repository, and the real `maestro` command."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_COMMAND_SECONDS_MAX = 60


class DemoWorld:
    """A temporary folder with all files of the demonstration; it is removed at the end."""

    def __init__(self) -> None:
        # A short path: some systems limit a socket path to about a hundred bytes.
        self.root = Path(tempfile.mkdtemp(prefix="maestro-demo-"))
        self.repository = self.root / "src" / "dana" / "kettle"
        self.repository.mkdir(parents=True)
        kept = {name: value for name, value in os.environ.items() if not name.startswith("MAESTRO_")}
        home = self.root / "data"
        home.mkdir(mode=0o700)
        (home / "config.toml").write_text('human = "dana"\nnotify_desktop = false\n')
        self.environment = kept | {"MAESTRO_HOME": str(home)}

    def __enter__(self) -> DemoWorld:
        self.run_git("init", "--quiet")
        self.run_git("remote", "add", "origin", "git@example.org:acme/kettle.git")
        self.run_maestro("up", "--port", "0")
        return self

    def __exit__(self, *_: object) -> None:
        subprocess.run(
            [*maestro_command(), "down"], env=self.environment, cwd=self.repository, capture_output=True, check=False
        )
        shutil.rmtree(self.root, ignore_errors=True)

    def run_git(self, *arguments: str) -> str:
        options = ["-c", "user.name=dana", "-c", "user.email=dana@example.org"]
        done = subprocess.run(
            ["git", *options, *arguments], cwd=self.repository, check=True, capture_output=True, text=True
        )
        return done.stdout

    def run_maestro(self, *arguments: str) -> str:
        """Return the output of a command. Raise an error if the command fails."""
        done = self.call_maestro(*arguments)
        if done.returncode != 0:
            raise RuntimeError(f"maestro {' '.join(arguments)} failed ({done.returncode}): {done.stderr}")
        return done.stdout

    def call_maestro(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*maestro_command(), *arguments],
            cwd=self.repository,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=_COMMAND_SECONDS_MAX,
            check=False,
        )

    def call_for_json(self, *arguments: str) -> Any:
        """Return the JSON answer of a command."""
        return json.loads(self.run_maestro(*arguments, "--json"))

    @contextmanager
    def followed_events(self, *, seconds_max: float) -> Iterator[Iterator[dict[str, Any]]]:
        """Yield the events from now on, as the command prints them. The events end after `seconds_max`."""
        since = self.call_for_json("status")["events"]
        arguments = [*maestro_command(), "events", "--follow", "--since", str(since), "--json"]
        process = subprocess.Popen(
            arguments, cwd=self.repository, env=self.environment, stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        deadline = threading.Timer(seconds_max, process.kill)
        deadline.start()
        try:
            yield (json.loads(line) for line in process.stdout)
        finally:
            deadline.cancel()
            process.kill()
            process.wait()
            process.stdout.close()


def maestro_command() -> list[str]:
    """Return the command that is installed beside this interpreter, or the client module."""
    installed = Path(sys.executable).with_name("maestro")
    if installed.exists():
        return [str(installed)]
    return [sys.executable, "-c", "from maestro.client.main import main; main()"]


def indent_text(text: str) -> str:
    return "".join(f"  {line}".rstrip() + "\n" for line in text.splitlines())
