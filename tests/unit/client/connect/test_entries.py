"""Entries of any Maestro installation are recognised, and entries of other programs are not."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from maestro.client.connect import entries
from maestro.tools.connect_support import MaestroCommand, SettingsScope


@pytest.mark.parametrize(
    "command",
    [
        "maestro hook claude Stop",
        "/opt/bin/maestro hook gemini AfterTool",
        "MAESTRO_HOME=/data /opt/maestro-py hook codex Stop",
        "'/with a space/maestro' hook claude Stop",
    ],
)
def test_hooks_of_every_installation_are_recognised(command: str) -> None:
    assert entries.is_maestro_hook(command)


@pytest.mark.parametrize(
    "command",
    [
        None,
        3,
        "lint.sh",
        "maestro hook unknown Stop",
        "maestro task list",
        "notmaestro hook claude Stop",
        "maestro hook claude Stop; rm x",
        "maestro hook claude",
    ],
)
def test_other_commands_are_not_hooks_of_maestro(command: Any) -> None:
    assert not entries.is_maestro_hook(command)


def test_an_mcp_entry_of_a_removed_installation_is_stale(tmp_path: Path) -> None:
    program = tmp_path / "maestro"
    entry = {"command": str(program), "args": ["mcp"]}
    assert entries.is_stale_mcp_entry(entry)
    program.touch()
    assert not entries.is_stale_mcp_entry(entry)


@pytest.mark.parametrize(
    "entry",
    [
        None,
        [],
        {"command": "/no/maestro", "args": ["serve"]},
        {"command": "maestro", "args": ["mcp"]},
        {"command": "/no/other", "args": ["mcp"]},
        {"command": ["/no/maestro"], "args": ["mcp"]},
    ],
    ids=repr,
)
def test_other_mcp_entries_are_never_stale(entry: Any) -> None:
    assert not entries.is_stale_mcp_entry(entry)


def test_the_maestro_command_is_the_program_beside_the_interpreter_if_it_exists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert entries.maestro_command() == MaestroCommand("maestro", "")
    (tmp_path / "maestro").touch(mode=0o755)
    assert entries.maestro_command().program == str(tmp_path / "maestro")


def test_the_maestro_command_names_the_data_directory_by_its_full_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MAESTRO_HOME", "data")
    assert entries.maestro_command().home == str(tmp_path / "data")


@pytest.mark.parametrize("tool", entries.TOOLS)
def test_settings_of_the_user_are_in_the_home_and_settings_of_a_project_in_the_project(
    tool: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("CODEX_HOME", "CLAUDE_CONFIG_DIR", "GEMINI_CLI_HOME"):
        monkeypatch.delenv(name, raising=False)
    for scope, folder in ((SettingsScope.USER, "home"), (SettingsScope.PROJECT, "project")):
        targets = entries.settings_targets(tool, scope, MaestroCommand("maestro"), directory=tmp_path / "project")
        assert targets and all(target.path.is_relative_to(tmp_path / folder) for target in targets)
