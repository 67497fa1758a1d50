"""The demo's own world: a data directory, a git repository, and the real `maestro` command in it."""

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


class World:
    """Everything lives below one temporary folder, and nothing is left of it."""

    def __init__(self) -> None:
        # Short: some systems allow a socket path of about a hundred bytes, and this shows the common case.
        self.root = Path(tempfile.mkdtemp(prefix="maestro-demo-"))
        self.repository = self.root / "src" / "dana" / "kettle"
        self.repository.mkdir(parents=True)
        kept = {name: value for name, value in os.environ.items() if not name.startswith("MAESTRO_")}
        home = self.root / "data"
        home.mkdir(mode=0o700)
        (home / "config.toml").write_text('human = "dana"\nnotify_desktop = false\n')
        self.environment = kept | {"MAESTRO_HOME": str(home)}

    def __enter__(self) -> World:
        self.git("init", "--quiet")
        self.git("remote", "add", "origin", "git@example.org:acme/kettle.git")
        self.maestro("up", "--port", "0")
        return self

    def __exit__(self, *_: object) -> None:
        subprocess.run(
            [*command(), "down"], env=self.environment, cwd=self.repository, capture_output=True, check=False
        )
        shutil.rmtree(self.root, ignore_errors=True)

    def git(self, *words: str) -> str:
        own = ["-c", "user.name=dana", "-c", "user.email=dana@example.org"]
        done = subprocess.run(["git", *own, *words], cwd=self.repository, check=True, capture_output=True, text=True)
        return done.stdout

    def maestro(self, *words: str) -> str:
        """What the command prints; it must succeed."""
        done = self.try_maestro(*words)
        if done.returncode != 0:
            raise RuntimeError(f"maestro {' '.join(words)} failed ({done.returncode}): {done.stderr}")
        return done.stdout

    def try_maestro(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*command(), *words],
            cwd=self.repository,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=_COMMAND_SECONDS_MAX,
            check=False,
        )

    def ask(self, *words: str) -> Any:
        """What the command answers, as JSON."""
        return json.loads(self.maestro(*words, "--json"))

    @contextmanager
    def followed(self, *, seconds_max: float) -> Iterator[Iterator[dict[str, Any]]]:
        """The event log from now on, as the command prints it; it ends when the time is over."""
        since = self.ask("status")["events"]
        words = [*command(), "events", "--follow", "--since", str(since), "--json"]
        process = subprocess.Popen(
            words, cwd=self.repository, env=self.environment, stdout=subprocess.PIPE, text=True
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


def command() -> list[str]:
    """The command as it is installed beside this interpreter, or as a module of it."""
    beside = Path(sys.executable).with_name("maestro")
    if beside.exists():
        return [str(beside)]
    return [sys.executable, "-c", "from maestro.client.thin import main; main()"]


def indented(text: str) -> str:
    return "".join(f"  {line}".rstrip() + "\n" for line in text.splitlines())
