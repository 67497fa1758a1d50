"""The action of a Gemini tool call, in the form that policies match, and the scope of the call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from maestro.tools.hook_dialect import ToolScope

MAESTRO_SERVER = "maestro"
_SHELL = "run_shell_command"
_EDITING_TOOLS = ("write_file", "replace")
# These tools read, or keep notes of the model. `ask_user` shows its question to the person.
_READING_TOOLS = frozenset(
    {"read_file", "read_many_files", "list_directory", "glob", "grep_search", "search_file_content"}
    | {"get_internal_docs", "list_mcp_resources", "write_todos", "update_topic", "complete_task", "ask_user"}
)


def tool_action(tool: str, given: Mapping[str, Any]) -> str:
    if tool == _SHELL:
        return f"shell:{given.get('command', '')}"
    if tool in _EDITING_TOOLS:
        return f"edit:{given.get('file_path', '')}"
    return f"tool:{tool}"


def tool_scope(tool: str, server: str) -> ToolScope:
    """Return the scope of a tool call. `server` is its MCP server. Maestro's own tools count as harmless, because the
    Maestro server decides about each call."""
    if server:
        return (
            ToolScope.NOTHING
            if server == MAESTRO_SERVER and tool.startswith(f"mcp_{MAESTRO_SERVER}_")
            else ToolScope.ANYTHING
        )
    if tool in _READING_TOOLS:
        return ToolScope.NOTHING
    return ToolScope.A_FILE if tool in _EDITING_TOOLS else ToolScope.ANYTHING
