"""Hooks as they stand in a program's settings: each event with a command, or with an address for claude."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from maestro.tools.hooks import known

Groups = dict[str, list[dict[str, Any]]]
_UNITS = {"gemini": 1_000}  # it counts milliseconds, the others seconds
_NAMED = {"gemini": {"name": "maestro"}}
_NOT_OVER_HTTP = frozenset({"SessionStart"})  # claude refuses
# Its protocol tells these already. A permission that both ask for would be asked for twice.
_TOLD_BY_PROTOCOL = frozenset({"PermissionRequest", "Notification", "SessionEnd"})

_HELD_SECONDS = 24 * 3600
_EVERY_TOOL = frozenset({"gemini"})  # whose hook for permissions fires before each of them
# It takes a hook that cannot be run, or is killed with it, for consent, unless that says so and ends with this code.
_STAYS = "trap : TERM HUP INT; "
_OR_REFUSED = " || { echo 'Maestro could not be asked whether this is allowed.' >&2; exit 2; }"


def by_command(tool: str, command: Callable[[str], str], *, seconds: Mapping[str, int] | None = None) -> Groups:
    """Every event of a program, with the command for each. `seconds` are other patiences than the usual."""
    patience = {**known.DIALECTS[tool].events, **(seconds or {})}
    return {
        event: _group({"type": "command", "command": command(event)}, patience[event], tool)
        for event in known.DIALECTS[tool].events
    }


def over_http(url: str, command: Callable[[str], str], *, seconds: Mapping[str, int] | None = None) -> Groups:
    """Claude's events over HTTP, with the session's token from its environment; the others by command."""
    groups = by_command("claude", command, seconds=seconds)
    patience = {**known.DIALECTS["claude"].events, **(seconds or {})}
    for event in groups.keys() - _NOT_OVER_HTTP:
        address = {
            "type": "http",
            "url": f"{url.rstrip('/')}/hooks/claude/{event}",
            "headers": {"Authorization": "Bearer $MAESTRO_TOKEN"},
            "allowedEnvVars": ["MAESTRO_TOKEN"],
        }
        groups[event] = _group(address, patience[event], "claude")
    return groups


def beside_protocol(tool: str, command: Sequence[str], *, url: str = "") -> Groups:
    """The events of a program that is spoken with over its protocol; `command` is the one that takes a tool and an
    event, and `url` the server's, if it has one."""

    def words(event: str) -> str:
        return shlex.join([*command, tool, event])

    groups = over_http(url, words) if url and tool == "claude" else by_command(tool, words)
    return {event: group for event, group in groups.items() if event not in _TOLD_BY_PROTOCOL}


def in_terminal(tool: str, command: Sequence[str], *, gates: bool = True) -> Groups:
    """The events of a program in a terminal that Maestro started: all of them, by command. Nothing else tells how it
    stands, and the address for HTTP may be another one after the server's next start. What stands for a request for
    permission waits for as long as a person takes, also while there is no server; `gates` is whether it needs to
    where that is every tool call."""
    dialect = known.DIALECTS[tool]
    every = tool in _EVERY_TOOL
    held = dialect.asks if gates or not every else ""

    def words(event: str) -> str:
        patient = ["--patient"] if event == held else []
        line = shlex.join([*command, *patient, tool, event])
        return f"{_STAYS}{line}{_OR_REFUSED}" if every and event == held else line

    return by_command(tool, words, seconds={held: _HELD_SECONDS} if held else {})


def _group(hook: dict[str, Any], seconds: int, tool: str) -> list[dict[str, Any]]:
    return [{"hooks": [{**_NAMED.get(tool, {}), **hook, "timeout": seconds * _UNITS.get(tool, 1)}]}]
