"""Provide the folders of sessions in a data directory, without runners."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from maestro.services.runners.runners import Runners
from maestro.wire import runner_folder


class SessionFolders:
    """The `Runners` of a data directory, with helpers that write the files of sessions."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.runners = Runners(home)

    def write(self, session_id: str, name: str, content: Any) -> Path:
        """Write a file of a session, a text unchanged and any other value as JSON, and return its path."""
        folder = self.home / runner_folder.SESSIONS / session_id
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    def write_note(self, session_id: str, **fields: Any) -> None:
        """Write the identity file of a runner, by default for this process and a program that has ended."""
        values = {
            "runner": os.getpid(),
            "runner_started": "1",
            "program": 2**22 + 1,
            "program_started": "1",
            "epoch": 1,
        }
        self.write(session_id, runner_folder.IDENTITY, values | fields)


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SessionFolders:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.chdir(home)  # the server works in its data directory, which keeps socket paths short
    return SessionFolders(home)
