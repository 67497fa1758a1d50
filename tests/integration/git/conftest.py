"""Provide a folder for repositories, and a home with the git and ssh configuration of the test."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder for repositories. The home, the git configuration and the git variables are those of the test."""
    home = tmp_path / "home"
    (home / ".ssh").mkdir(parents=True)
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(home / ".gitconfig"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    (home / ".gitconfig").write_text(
        "[user]\n\tname = Dave\n\temail = dave@example.com\n[init]\n\tdefaultBranch = main\n"
        '[protocol "file"]\n\tallow = always\n'
    )
    made = tmp_path / "real"
    made.mkdir()
    return made
