"""The action of a Claude tool call, in the form that policies match."""

from __future__ import annotations

from typing import Any

FILES = ("file_path", "notebook_path", "path")
_READING_TOOLS = ("Read", "Grep", "Glob")


def tool_action(tool: str, given: dict[str, Any]) -> str:
    if tool == "Bash":
        return f"shell:{given.get('command', '')}"
    file = next((str(given[name]) for name in FILES if given.get(name)), "")
    return f"edit:{file}" if file and tool not in _READING_TOOLS else f"tool:{tool}"
