"""The registry finds tools by name or alias, with their drivers, levels and settings folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from maestro.core import errors
from maestro.domain.conversations import DriverKind
from maestro.tools import registry
from maestro.tools.levels import FILE_NAME, ToolLevels


def test_a_tool_is_found_by_its_name_and_by_an_alias() -> None:
    assert registry.find_tool("claude") is registry.find_tool("claude-code") is registry.TOOLS["claude"]


def test_an_unknown_tool_is_refused_with_the_known_tools() -> None:
    with pytest.raises(errors.NotFound, match="'nano' does not exist") as refused:
        registry.find_tool("nano")
    assert all(name in refused.value.hint for name in registry.TOOLS)


def test_aliases_lead_to_tools_and_differ_from_names_of_tools() -> None:
    assert registry.TOOL_ALIASES["claude-code"] is registry.Tool("claude")
    assert not registry.TOOL_ALIASES.keys() & set(registry.Tool)


def test_the_drivers_that_are_unreachable_during_a_turn_come_from_the_descriptor() -> None:
    for name, tool in registry.TOOLS.items():
        assert registry.drivers_unreachable_during_turn(name) == tool.abilities.unreachable_during_turn
    assert registry.drivers_unreachable_during_turn(None) == registry.drivers_unreachable_during_turn("unknown") == ()


def test_only_the_model_of_gemini_in_a_terminal_waits_for_mail() -> None:
    assert registry.find_model_wait("gemini", DriverKind.TERMINAL) is registry.TOOLS["gemini"].model_wait is not None
    assert registry.find_model_wait("gemini", DriverKind.PROTOCOL) is None
    assert registry.find_model_wait("claude", DriverKind.TERMINAL) is None
    assert registry.find_model_wait("unknown", DriverKind.TERMINAL) is None


def test_a_tool_without_levels_has_empty_levels_and_reads_no_file(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_text("[broken")
    assert registry.read_levels("command", tmp_path) == ToolLevels()
    with pytest.raises(errors.Invalid):
        registry.read_levels("claude", tmp_path)


def test_the_settings_folders_come_from_the_tools_with_settings() -> None:
    assert {".claude", ".codex", ".gemini"} <= registry.SETTINGS_FOLDERS
    assert "" not in registry.SETTINGS_FOLDERS
