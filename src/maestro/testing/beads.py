"""A checkout with Beads: the stand-in or a real `bd`, and the hand of someone who uses it by themselves."""

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
    """A folder for the PATH in which the stand-in is called `bd`; without the site packages it starts in no time."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "bd"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "{standin}" "$@"\n')
    program.chmod(0o755)
    return program


class Hand:
    """Someone who uses `bd` in a checkout, and who can make the stand-in misbehave."""

    def __init__(self, checkout: Path, *, program: str = "bd") -> None:
        self.checkout = checkout
        self.folder = checkout / ".beads"
        self._program = program

    def init(self, *, is_real: bool = False) -> Hand:
        if is_real:
            self._run("init", "--prefix", "bd", "--quiet")
        self.folder.mkdir(exist_ok=True)
        return self

    def choose(self) -> None:
        """The checkout says that its issues live in Beads."""
        settings = self.checkout / ".maestro" / "config.toml"
        settings.parent.mkdir(exist_ok=True)
        settings.write_text(CHOSEN)

    def bd(self, *words: str, actor: str = "alice") -> Any:
        """What a command answers, out of whatever it comes in."""
        done = self._run(*words, "--json", actor=actor)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        said = json.loads(done.stdout) if done.stdout.strip() else None
        return said["data"] if isinstance(said, dict) and "data" in said else said

    def try_bd(self, *words: str, actor: str = "alice") -> None:
        """Whatever comes of it."""
        self._run(*words, "--json", actor=actor)

    def issues(self) -> list[dict[str, Any]]:
        """All of them, with their comments."""
        refs = [
            one["id"] for words in ((), ("--status", "closed")) for one in self.bd("list", "--limit", "0", *words)
        ]
        found = self.bd("show", *dict.fromkeys(refs)) if refs else []
        for one in found:
            one["comments"] = self.bd("comments", one["id"]) or []
        return list(found)

    def texts(self, ref: str) -> list[str]:
        """The comments of an issue, without our marks."""
        return [one["text"].partition("\n\n[maestro:")[0] for one in self.bd("comments", ref) or []]

    def tell(self, name: str, text: str = "") -> None:
        """Have the stand-in misbehave: `hang`, `fail`, `kill`, `schema`."""
        part = self.folder / f".{name}"
        part.write_text(text)
        part.rename(self.folder / name)

    def untell(self, name: str) -> None:
        (self.folder / name).unlink(missing_ok=True)

    def calls(self) -> list[list[str]]:
        log = self.folder / "calls"
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []

    def _run(self, *words: str, actor: str = "alice") -> subprocess.CompletedProcess[str]:
        mine = {"BEADS_DIR": str(self.folder), "BD_ACTOR": actor, "BEADS_ACTOR": actor}
        return subprocess.run(
            [self._program, *words],
            cwd=self.checkout,
            env=os.environ | mine,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )


def generations() -> list[str]:
    """Those of the stand-in, and the real one where it is."""
    return [*GENERATIONS, *([REAL] if shutil.which("bd") else [])]
