"""Tests that connect each connectable tool to a live server, and disconnect the tool. No program starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from maestro.client.connect import changes, entries
from maestro.client.connect.change_records import ConnectRecords
from maestro.testing.live import LiveServer
from maestro.tools import registry
from maestro.tools.connect_support import SettingsScope


@pytest.mark.parametrize("tool", registry.CONNECTABLE)
def test_connect_fires_every_hook_and_disconnect_removes_every_file(tool: str, tmp_path: Path) -> None:
    home = tmp_path / "person"
    home.mkdir()
    folders = dict.fromkeys(registry.TOOLS[tool].environment.kept_variables, "")
    person = {**folders, "HOME": str(home), "PATH": "/usr/bin:/bin"}
    count = len(registry.DIALECTS[tool].events)
    with LiveServer(tmp_path / "maestro", environment=person) as live:
        connected = live.run_command("connect", tool, cwd=home)
        assert connected.returncode == 0, connected.stdout + connected.stderr
        assert f"{count} of {count} hooks were fired and answered".encode() in connected.stdout
        disconnected = live.run_command("disconnect", tool, cwd=home)
        assert disconnected.returncode == 0, disconnected.stdout + disconnected.stderr
    assert list(home.iterdir()) == [], "disconnect removes every file and every folder that connect made"


@pytest.mark.parametrize("tool", registry.CONNECTABLE)
def test_disconnect_keeps_the_folders_that_the_person_made(tool: str, tmp_path: Path) -> None:
    home = tmp_path / "person"
    home.mkdir()
    command = entries.maestro_command()
    targets = registry.CONNECTABLE[tool].settings_targets(SettingsScope.USER, command, home, {"HOME": str(home)})
    for folder in {target.path.parent for target in targets}:
        folder.mkdir(parents=True, exist_ok=True)
    before = sorted(home.rglob("*"))
    records = ConnectRecords(tmp_path / "maestro")
    for target in targets:
        changes.apply_connect(target, changes.plan_connect(target, records), records, tool=tool, scope="user")
    assert sorted(home.rglob("*")) != before
    for target in targets:
        changes.apply_disconnect(target, changes.plan_disconnect(target, records), records)
    assert sorted(home.rglob("*")) == before
