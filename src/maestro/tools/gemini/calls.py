"""What a tool call of gemini's would do, from what its protocol tells: in the words that policies match.

A title is for people, and the model writes in it what it likes (a prompt, a text to be replaced, an argument called
`command`). So it counts for a shell alone, where it is the command. Which tool it is, the call's id begins with: the
name under which the program found it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_SHELL, _FILES = "execute", ("edit", "delete", "move")
_COUNTED = re.compile(r"-[0-9]{13}-[0-9]+$")  # the time and a number, where its model gave the call no id


def actions(call: dict[str, Any]) -> tuple[str, ...]:
    """All that must be allowed for it to be made."""
    kind, files = call.get("kind"), tuple(dict.fromkeys(_files(call)))
    if kind == _SHELL and call.get("title"):
        return (f"shell:{call['title']}",)
    if kind in _FILES and files:
        return tuple(f"edit:{file}" for file in files)
    return (f"tool:{tool(call)}",)


def tool(call: dict[str, Any]) -> str:
    """Its name; empty if that is not told."""
    known = str(call.get("toolCallId") or "")
    counted = _COUNTED.search(known)
    return known[: counted.start()] if counted else known.rpartition("__")[0]


def title(call: dict[str, Any]) -> str:
    """What it is about, as a person is told of it."""
    said = str(call.get("title") or "")
    if call.get("kind") == _SHELL:
        return f"shell: {said}"
    named = tool(call) or "a tool"
    files = ", ".join(dict.fromkeys(_files(call))) if call.get("kind") in _FILES else ""
    return ": ".join(one for one in (named, files or said) if one)


def _files(call: dict[str, Any]) -> Iterator[str]:
    for place in [*(call.get("locations") or ()), *(call.get("content") or ())]:
        if isinstance(place, dict) and place.get("path"):
            yield str(place["path"])
