"""The actions of a Gemini tool call over its protocol, in the form that policies match.

A title is for people, and the model can write any text into it (a prompt, a replacement, an argument `command`). So
the title counts only for a shell call, where it is the command. The call's id begins with the program's name of the
tool.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_SHELL, _FILES = "execute", ("edit", "delete", "move")
_GENERATED_ENDING = re.compile(r"-[0-9]{13}-[0-9]+$")  # time and number, if the model gave the call no id


def call_actions(call: dict[str, Any]) -> tuple[str, ...]:
    """Return all actions that must be allowed for the call."""
    kind, files = call.get("kind"), tuple(dict.fromkeys(_file_paths(call)))
    if kind == _SHELL and call.get("title"):
        return (f"shell:{call['title']}",)
    if kind in _FILES and files:
        return tuple(f"edit:{file}" for file in files)
    return (f"tool:{tool_name(call)}",)


def tool_name(call: dict[str, Any]) -> str:
    """Return the name of the tool, or '' if unknown."""
    call_id = str(call.get("toolCallId") or "")
    ending = _GENERATED_ENDING.search(call_id)
    return call_id[: ending.start()] if ending else call_id.rpartition("__")[0]


def call_title(call: dict[str, Any]) -> str:
    """Return a description of the call for the person."""
    call_title = str(call.get("title") or "")
    if call.get("kind") == _SHELL:
        return f"shell: {call_title}"
    name = tool_name(call) or "a tool"
    files = ", ".join(dict.fromkeys(_file_paths(call))) if call.get("kind") in _FILES else ""
    return ": ".join(part for part in (name, files or call_title) if part)


def _file_paths(call: dict[str, Any]) -> Iterator[str]:
    for entry in [*(call.get("locations") or ()), *(call.get("content") or ())]:
        if isinstance(entry, dict) and entry.get("path"):
            yield str(entry["path"])
