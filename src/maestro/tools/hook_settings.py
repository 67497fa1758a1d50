"""The hooks section of a program's settings: each event with a command, or with a URL if the program takes URLs."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from maestro.tools.hook_dialect import HookDialect

HookGroups = dict[str, list[dict[str, Any]]]

_PERMISSION_SECONDS = 24 * 3600
# For a program that takes a hook that cannot run, or is killed, for consent. Such a program refuses the call only if
# the hook writes an error and exits with code 2.
_IGNORE_SIGNALS = "trap : TERM HUP INT; "
_OR_REFUSE = " || { echo 'Maestro could not be asked whether this is allowed.' >&2; exit 2; }"


def hooks_by_command(
    dialect: HookDialect, command: Callable[[str], str], *, timeouts: Mapping[str, int] | None = None
) -> HookGroups:
    """Return every event of a program with its command. `timeouts` overrides the seconds of single events."""
    seconds = {**dialect.events, **(timeouts or {})}
    return {
        event: _group({"type": "command", "command": command(event)}, seconds[event], dialect)
        for event in dialect.events
    }


def hooks_beside_dialog(dialect: HookDialect, command: Callable[[str], str]) -> HookGroups:
    """Return every event of a program that a person starts by hand, by command.

    The permission hook may wait for an answer in Maestro if the program shows its own dialog meanwhile."""
    waiting_event = dialect.permission_event if dialect.dialog_opens_during_hook else ""
    return hooks_by_command(dialect, command, timeouts={waiting_event: _PERMISSION_SECONDS} if waiting_event else {})


def hooks_over_http(
    dialect: HookDialect, url: str, command: Callable[[str], str], *, timeouts: Mapping[str, int] | None = None
) -> HookGroups:
    """Return a program's events over HTTP, with the session's token from the environment. The events that the program
    does not send over HTTP call a command."""
    groups = hooks_by_command(dialect, command, timeouts=timeouts)
    seconds = {**dialect.events, **(timeouts or {})}
    for event in groups.keys() - dialect.events_by_command_only:
        address = {
            "type": "http",
            "url": f"{url.rstrip('/')}/hooks/{dialect.tool}/{event}",
            "headers": {"Authorization": "Bearer $MAESTRO_TOKEN"},
            "allowedEnvVars": ["MAESTRO_TOKEN"],
        }
        groups[event] = _group(address, seconds[event], dialect)
    return groups


def hooks_beside_protocol(dialect: HookDialect, command: Sequence[str], *, url: str = "") -> HookGroups:
    """Return the events of a program that Maestro controls over its protocol. `command` takes a tool and an event.
    `url` is the server's URL, or ''."""

    def command_line(event: str) -> str:
        return shlex.join([*command, dialect.tool, event])

    groups = (
        hooks_over_http(dialect, url, command_line)
        if url and dialect.takes_http_hooks
        else hooks_by_command(dialect, command_line)
    )
    return {event: group for event, group in groups.items() if event not in dialect.events_of_protocol}


def hooks_in_terminal(dialect: HookDialect, command: Sequence[str], *, gates: bool = True) -> HookGroups:
    """Return all events of a program that Maestro started in a terminal, by command.

    No other source reports the state of the conversation, and the HTTP address may change at the server's next start.
    The hook of a permission request waits until the person answers, also while no server runs. `gates` is False if
    a hook that fires before every tool call need not wait."""
    is_gated = dialect.gates_tool_calls
    waiting_event = dialect.permission_event if gates or not is_gated else ""

    def command_line(event: str) -> str:
        patient = ["--patient"] if event == waiting_event else []
        line = shlex.join([*command, *patient, dialect.tool, event])
        return f"{_IGNORE_SIGNALS}{line}{_OR_REFUSE}" if is_gated and event == waiting_event else line

    return hooks_by_command(
        dialect, command_line, timeouts={waiting_event: _PERMISSION_SECONDS} if waiting_event else {}
    )


def _group(hook: dict[str, Any], seconds: int, dialect: HookDialect) -> list[dict[str, Any]]:
    return [{"hooks": [{**dialect.hook_fields, **hook, "timeout": seconds * dialect.timeout_units_per_second}]}]
