"""The hooks section of a program's settings: each event with a command, or with a URL for Claude."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from maestro.tools import hook_registry

HookGroups = dict[str, list[dict[str, Any]]]
_TIMEOUT_UNITS = {"gemini": 1_000}  # Gemini counts milliseconds, the other programs seconds
_HOOK_NAMES = {"gemini": {"name": "maestro"}}
_NOT_OVER_HTTP = frozenset({"SessionStart"})  # Claude refuses HTTP hooks for this event
# The protocol reports these events already. With hooks too, a permission would be asked twice.
_REPORTED_BY_PROTOCOL = frozenset({"PermissionRequest", "Notification", "SessionEnd"})

_PERMISSION_SECONDS = 24 * 3600
_GATED_TOOLS = frozenset({"gemini"})  # programs whose permission hook fires before each tool call
# Gemini takes a hook that cannot run or is killed for consent, unless the hook writes an error and exits with code 2.
_IGNORE_SIGNALS = "trap : TERM HUP INT; "
_OR_REFUSE = " || { echo 'Maestro could not be asked whether this is allowed.' >&2; exit 2; }"


def hooks_by_command(
    tool: str, command: Callable[[str], str], *, timeouts: Mapping[str, int] | None = None
) -> HookGroups:
    """Return every event of a program with its command. `seconds` overrides the timeouts of single events."""
    timeouts = {**hook_registry.DIALECTS[tool].events, **(timeouts or {})}
    return {
        event: _group({"type": "command", "command": command(event)}, timeouts[event], tool)
        for event in hook_registry.DIALECTS[tool].events
    }


def hooks_over_http(
    url: str, command: Callable[[str], str], *, timeouts: Mapping[str, int] | None = None
) -> HookGroups:
    """Return Claude's events over HTTP, with the session's token from the environment; SessionStart by command."""
    groups = hooks_by_command("claude", command, timeouts=timeouts)
    timeouts = {**hook_registry.DIALECTS["claude"].events, **(timeouts or {})}
    for event in groups.keys() - _NOT_OVER_HTTP:
        address = {
            "type": "http",
            "url": f"{url.rstrip('/')}/hooks/claude/{event}",
            "headers": {"Authorization": "Bearer $MAESTRO_TOKEN"},
            "allowedEnvVars": ["MAESTRO_TOKEN"],
        }
        groups[event] = _group(address, timeouts[event], "claude")
    return groups


def hooks_beside_protocol(tool: str, command: Sequence[str], *, url: str = "") -> HookGroups:
    """Return the events of a program that Maestro controls over its protocol. `command` takes a tool and an event.
    `url` is the server's URL, or ''."""

    def command_line(event: str) -> str:
        return shlex.join([*command, tool, event])

    groups = hooks_over_http(url, command_line) if url and tool == "claude" else hooks_by_command(tool, command_line)
    return {event: group for event, group in groups.items() if event not in _REPORTED_BY_PROTOCOL}


def hooks_in_terminal(tool: str, command: Sequence[str], *, gates: bool = True) -> HookGroups:
    """Return all events of a program that Maestro started in a terminal, by command.

    No other source reports the state of the conversation, and the HTTP address may change at the server's next start.
    The hook of a permission request waits until the person answers, also while no server runs. `gates` is False if
    a hook that fires before every tool call need not wait."""
    dialect = hook_registry.DIALECTS[tool]
    is_gated = tool in _GATED_TOOLS
    waiting_event = dialect.permission_event if gates or not is_gated else ""

    def command_line(event: str) -> str:
        patient = ["--patient"] if event == waiting_event else []
        line = shlex.join([*command, *patient, tool, event])
        return f"{_IGNORE_SIGNALS}{line}{_OR_REFUSE}" if is_gated and event == waiting_event else line

    return hooks_by_command(
        tool, command_line, timeouts={waiting_event: _PERMISSION_SECONDS} if waiting_event else {}
    )


def _group(hook: dict[str, Any], seconds: int, tool: str) -> list[dict[str, Any]]:
    return [{"hooks": [{**_HOOK_NAMES.get(tool, {}), **hook, "timeout": seconds * _TIMEOUT_UNITS.get(tool, 1)}]}]
