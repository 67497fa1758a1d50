"""Provide a person who connects tools to a live server."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from maestro.testing.live import PYTHON_CLIENT, LiveServer

SETTINGS = '{\n  // mine\n  "ui": {"theme": "dark"},\n}\n'


class Person:
    """A person with a home, a working directory and programs, but without any agent program."""

    def __init__(self, live: LiveServer, folder: Path) -> None:
        self.live = live
        self.home = folder / "person"
        self.work = folder / "work"
        self.programs = folder / "programs"
        for folder_of_person in (self.home, self.work, self.programs):
            folder_of_person.mkdir()
        (self.home / ".gemini").mkdir()
        self.settings = self.home / ".gemini" / "settings.json"
        self.settings.write_text(SETTINGS)

    def run(self, *words: str, code: int = 0, **variables: str) -> str:
        named = {"HOME": str(self.home), "PATH": f"{self.programs}:/usr/bin:/bin", **variables}
        ran = subprocess.run(
            [*PYTHON_CLIENT, *words],
            cwd=self.work,
            env=self.live.environment(**named),
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == code, ran.stdout + ran.stderr
        return ran.stdout + ran.stderr

    def install(self, tool: str, version: str) -> None:
        """Install a program that only prints its version."""
        program = self.programs / tool
        program.write_text(f"#!/bin/sh\necho '{version} (something)'\n")
        program.chmod(0o755)


@pytest.fixture
def person(live: LiveServer, tmp_path: Path) -> Person:
    return Person(live, tmp_path)
