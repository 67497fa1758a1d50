"""A checkout with Beads, for tests: the stand-in or the real `bd`, and a user who calls `bd` directly."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

REAL = "real"
GENERATIONS = ("0.46.0", "0.50.3", "1.0.5")
CHOSEN = '[tracker]\nkind = "beads"\n'


def put_on_path(folder: Path, standin: Path) -> Path:
    """Create `bd` in a folder for the PATH: a script that runs the stand-in, quickly, without site packages."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "bd"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "{standin}" "$@"\n')
    program.chmod(0o755)
    return program


class BeadsUser:
    """A user of `bd` in a checkout, who can also make the stand-in misbehave."""

    def __init__(self, checkout: Path, *, program: str = "bd") -> None:
        self.checkout = checkout
        self.folder = checkout / ".beads"
        self._program = program

    def init(self, *, is_real: bool = False) -> BeadsUser:
        if is_real:
            self._run_bd("init", "--prefix", "bd", "--quiet")
        self.folder.mkdir(exist_ok=True)
        return self

    def choose_beads(self) -> None:
        """Choose Beads as the tracker of the checkout."""
        settings = self.checkout / ".maestro" / "config.toml"
        settings.parent.mkdir(exist_ok=True)
        settings.write_text(CHOSEN)

    def run_bd(self, *arguments: str, actor: str = "alice") -> Any:
        """Return the answer of a command, without its envelope."""
        done = self._run_bd(*arguments, "--json", actor=actor)
        assert done.returncode == 0, (arguments, done.stdout, done.stderr)
        answer = json.loads(done.stdout) if done.stdout.strip() else None
        return answer["data"] if isinstance(answer, dict) and "data" in answer else answer

    def try_bd(self, *arguments: str, actor: str = "alice") -> None:
        """Run a command and ignore its outcome."""
        self._run_bd(*arguments, "--json", actor=actor)

    def issues(self) -> list[dict[str, Any]]:
        """Return all issues, with their comments."""
        refs = [
            issue["id"]
            for arguments in ((), ("--status", "closed"))
            for issue in self.run_bd("list", "--limit", "0", *arguments)
        ]
        issues = self.run_bd("show", *dict.fromkeys(refs)) if refs else []
        for issue in issues:
            issue["comments"] = self.run_bd("comments", issue["id"]) or []
        return list(issues)

    def comment_texts(self, ref: str) -> list[str]:
        """Return the comments of an issue, without the marks of Maestro."""
        return [comment["text"].partition("\n\n[maestro:")[0] for comment in self.run_bd("comments", ref) or []]

    def misbehave(self, name: str, text: str = "") -> None:
        """Make the stand-in misbehave: `hang`, `fail`, `kill`, `schema`."""
        part = self.folder / f".{name}"
        part.write_text(text)
        part.rename(self.folder / name)

    def stop_misbehaving(self, name: str) -> None:
        (self.folder / name).unlink(missing_ok=True)

    def calls(self) -> list[list[str]]:
        log = self.folder / "calls"
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []

    def _run_bd(self, *arguments: str, actor: str = "alice") -> subprocess.CompletedProcess[str]:
        variables = {"BEADS_DIR": str(self.folder), "BD_ACTOR": actor, "BEADS_ACTOR": actor}
        return subprocess.run(
            [self._program, *arguments],
            cwd=self.checkout,
            env=os.environ | variables,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )


def generations() -> list[str]:
    """Return the versions of the stand-in, and the real `bd` if it is installed."""
    return [*GENERATIONS, *([REAL] if shutil.which("bd") else [])]
