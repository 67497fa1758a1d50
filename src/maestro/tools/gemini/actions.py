"""What a tool call of gemini's would do: in the words that policies match, and how far it reaches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from maestro.tools.hooks.base import Touch

OUR_SERVER = "maestro"
_SHELL = "run_shell_command"
_EDITS = ("write_file", "replace")
# These look, or keep notes of the model's own. A question to the person is one they see.
_LOOKS = frozenset(
    {"read_file", "read_many_files", "list_directory", "glob", "grep_search", "search_file_content"}
    | {"get_internal_docs", "list_mcp_resources", "write_todos", "update_topic", "complete_task", "ask_user"}
)


def action(tool: str, given: Mapping[str, Any]) -> str:
    if tool == _SHELL:
        return f"shell:{given.get('command', '')}"
    if tool in _EDITS:
        return f"edit:{given.get('file_path', '')}"
    return f"tool:{tool}"


def touch(tool: str, server: str) -> Touch:
    """`server` is the MCP server that the tool is of. What a session may do at Maestro, Maestro decides."""
    if server:
        return Touch.NOTHING if server == OUR_SERVER and tool.startswith(f"mcp_{OUR_SERVER}_") else Touch.ANYTHING
    if tool in _LOOKS:
        return Touch.NOTHING
    return Touch.A_FILE if tool in _EDITS else Touch.ANYTHING
