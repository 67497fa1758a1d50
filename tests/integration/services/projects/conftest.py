"""The command `maestro` in checkouts, with a live server."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from maestro.testing.live import LiveServer


class CheckoutCommand:
    """The command in one checkout, by the person or by a session."""

    def __init__(self, live: LiveServer, folder: Path, **env: str) -> None:
        self.live, self.folder, self.env = live, folder, env

    def run(self, *words: str) -> subprocess.CompletedProcess[bytes]:
        return self.live.run_command(*words, cwd=self.folder, env=self.env)

    def json(self, *words: str) -> Any:
        """Run the command and return its JSON output."""
        done = self.run(*words, "--json")
        assert done.returncode == 0, done.stderr.decode()
        return json.loads(done.stdout)

    def fails(self, code: int, *words: str) -> str:
        """Run a command that ends with an exit code. Return its error text."""
        done = self.run(*words)
        assert done.returncode == code, (done.stdout, done.stderr)
        return done.stderr.decode()

    def in_checkout(self, folder: Path) -> CheckoutCommand:
        """Return the command of the person in another checkout."""
        return CheckoutCommand(self.live, folder)

    def register(self, name: str, mode: str = "execute") -> CheckoutCommand:
        """Register a session, and return the command of the session."""
        made = self.json("session", "register", "--name", name, "--mode", mode)
        return CheckoutCommand(self.live, self.folder, MAESTRO_TOKEN=made["token"])

    def open_issue(self, to: str) -> Any:
        return self.json("issue", "open", to, "--title", "Crash", "--message", "It crashes.")

    def write_settings(self, text: str) -> None:
        """Write the committed settings of the checkout."""
        (self.folder / ".maestro").mkdir(exist_ok=True)
        (self.folder / ".maestro" / "config.toml").write_text(text)


@pytest.fixture
def vc(live: LiveServer, make_repo: Callable[..., Path]) -> CheckoutCommand:
    return CheckoutCommand(live, make_repo("vc"))
