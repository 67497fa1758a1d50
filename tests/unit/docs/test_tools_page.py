"""The page about tools has one column for each tool, and every cell comes from the tool's descriptor."""

from __future__ import annotations

import msgspec
import pytest

from maestro.docs.tools_page import tools_page
from maestro.tools.descriptor import ToolDescriptor
from maestro.tools.registry import TOOLS


def cells(title: str) -> dict[str, str]:
    """Return the cells of a row, by the name of the tool."""
    (line,) = [line for line in tools_page("Note.").splitlines() if line.startswith(f"| {title} |")]
    values = [cell.strip() for cell in line.strip("|").split("|")][1:]
    return dict(zip(TOOLS, values, strict=True))


def test_the_page_begins_with_the_note_and_a_column_for_each_tool() -> None:
    lines = tools_page("Note.").splitlines()
    assert lines[2] == "Note."
    assert [cell.strip(" `") for cell in lines[3].strip("|").split("|")[1:]] == list(TOOLS)


def test_every_row_has_a_cell_for_each_tool_and_no_cell_is_empty() -> None:
    rows = [line for line in tools_page("Note.").splitlines() if line.startswith("|")]
    for line in rows:
        assert line.count("|") == len(TOOLS) + 2, line
    assert not [line for line in rows[2:] if "|  |" in line]


def test_every_yes_or_no_ability_of_a_tool_has_a_row() -> None:
    (tool, *_) = TOOLS.values()
    abilities = [value for value in msgspec.structs.astuple(tool.abilities) if isinstance(value, bool)]
    rows = [line for line in tools_page("").splitlines() if "| yes |" in line or "| no |" in line]
    assert len(rows) == len(abilities)


@pytest.mark.parametrize("tool", TOOLS.values(), ids=lambda tool: tool.name)
def test_the_cells_of_abilities_and_waits_come_from_the_descriptor(tool: ToolDescriptor) -> None:
    expected = "yes" if tool.abilities.exit_means_done else "no"
    assert cells("exit code 0 completes the tasks")[tool.name] == expected
    expected = f"{tool.mcp_wait_seconds} s" if tool.mcp_wait_seconds else "–"
    assert cells("longest wait of an MCP call")[tool.name] == expected


def test_settings_of_the_user_lie_below_the_home_and_settings_of_a_project_in_its_directory() -> None:
    assert cells("settings files of the user")["codex"].startswith("`~/.codex/")
    project = cells("settings files of a project")
    assert project["claude"] != "–" and "~" not in project["claude"] and "/project" not in project["claude"]


def test_a_tool_that_cannot_be_connected_has_no_settings_files() -> None:
    (name,) = [tool.name for tool in TOOLS.values() if tool.connect is None]
    assert cells("settings files of the user")[name] == "–" and cells("tested version")[name] == "–"
