"""Tools call Maestro with a quoted command line that names the tool, the event and the data directory."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from maestro.tools import registry
from maestro.tools.connect_support import MaestroCommand, home_folder

USUAL = MaestroCommand("/opt/bin/maestro")
OWN_HOME = MaestroCommand("/opt/my bin/maestro", home="/data of/dana's")


def test_a_hook_command_names_tool_and_event() -> None:
    assert USUAL.hook_command("claude", "Stop") == "/opt/bin/maestro hook claude Stop"


def test_a_data_directory_and_a_program_with_spaces_are_quoted() -> None:
    assignment, *arguments = shlex.split(OWN_HOME.hook_command("codex", "Stop"))
    assert assignment == "MAESTRO_HOME=/data of/dana's"
    assert arguments == ["/opt/my bin/maestro", "hook", "codex", "Stop"]


def test_the_entry_of_the_mcp_server_names_only_an_unusual_data_directory() -> None:
    assert USUAL.mcp_entry() == {"command": "/opt/bin/maestro", "args": ["mcp"]}
    assert OWN_HOME.mcp_entry()["env"] == {"MAESTRO_HOME": "/data of/dana's"}


@pytest.mark.parametrize("tool", registry.DIALECTS)
def test_every_event_of_a_dialect_has_a_hook_command_with_its_name(tool: str) -> None:
    groups = USUAL.hook_groups(registry.DIALECTS[tool])
    commands = {event: group["hooks"][0]["command"] for event, (group,) in groups.items()}
    assert commands == {event: USUAL.hook_command(tool, event) for event in registry.DIALECTS[tool].events}


def test_the_home_folder_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert home_folder({"HOME": "/home/dana"}) == Path("/home/dana")
    monkeypatch.setenv("HOME", "/home/eve")
    assert home_folder({}) == home_folder({"HOME": ""}) == Path("/home/eve")
