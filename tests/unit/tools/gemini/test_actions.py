"""The action and the scope of a Gemini tool call follow from the tool, its input and its MCP server."""

from __future__ import annotations

from typing import Any

import pytest

from maestro.tools.gemini.actions import tool_action, tool_scope
from maestro.tools.hook_dialect import ToolScope


@pytest.mark.parametrize(
    ("tool", "given", "action"),
    [
        ("run_shell_command", {"command": "git push"}, "shell:git push"),
        ("run_shell_command", {}, "shell:"),
        ("write_file", {"file_path": "a.py"}, "edit:a.py"),
        ("replace", {"file_path": "a.py", "command": "x"}, "edit:a.py"),
        ("read_file", {"file_path": "a.py"}, "tool:read_file"),
        ("mcp_theirs_run", {"command": "git push"}, "tool:mcp_theirs_run"),
    ],
)
def test_the_action_of_a_gemini_call_is_a_command_an_edit_or_a_tool(
    tool: str, given: dict[str, Any], action: str
) -> None:
    assert tool_action(tool, given) == action


@pytest.mark.parametrize(
    ("tool", "server", "scope"),
    [
        ("read_file", "", ToolScope.NOTHING),
        ("ask_user", "", ToolScope.NOTHING),
        ("write_file", "", ToolScope.A_FILE),
        ("run_shell_command", "", ToolScope.ANYTHING),
        ("mcp_maestro_task", "maestro", ToolScope.NOTHING),
        ("mcp_maestro_task", "", ToolScope.ANYTHING),
        ("mcp_maestro_task", "theirs", ToolScope.ANYTHING),
        ("read_file", "maestro", ToolScope.ANYTHING),
    ],
)
def test_only_reading_tools_and_tools_of_maestro_have_the_scope_nothing(
    tool: str, server: str, scope: ToolScope
) -> None:
    assert tool_scope(tool, server) is scope
