"""Fixtures: the settings file of a tool, and the records of changes of settings files."""

from __future__ import annotations

from pathlib import Path

import pytest

from maestro.client.connect import entries
from maestro.client.connect.change_records import ConnectRecords
from maestro.tools.connect_support import MaestroCommand, SettingsScope, SettingsTarget


@pytest.fixture
def target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SettingsTarget:
    """Return the settings file of the person for one tool. The file does not exist yet."""
    monkeypatch.delenv("GEMINI_CLI_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (found,) = entries.settings_targets(
        "gemini", SettingsScope.USER, MaestroCommand("/opt/maestro/bin/maestro"), directory=tmp_path
    )
    found.path.parent.mkdir(parents=True)
    return found


@pytest.fixture
def records(tmp_path: Path) -> ConnectRecords:
    return ConnectRecords(tmp_path / "data")
