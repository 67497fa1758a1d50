"""Commands that a person looks at or types into for long. The server does its part, and the client goes on alone.

So a picture is drawn where the terminal is, and a restart of the server cuts nobody off.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from maestro.core import errors
from maestro.domain.callers import Caller
from maestro.operations import runs, server, terminals, timeline
from maestro.operations.app import App
from maestro.operations.base import Operation
from maestro.surfaces.cli import client_files
from maestro.surfaces.cli.channel import Channel, HandOver
from maestro.surfaces.cli.render import answers
from maestro.surfaces.cli.render import server as render
from maestro.surfaces.cli.render.style import View


@dataclass(frozen=True)
class Asked:
    """What was asked for, and by whom."""

    operation: Operation
    request: Any
    caller: Caller
    key: str
    json: bool


def wanted(operation: Operation, request: Any, *, json: bool) -> bool:
    """Whether this is such a command, asked for in such a way."""
    match operation.name:
        case server.STOP.name:
            return True
        case terminals.ATTACH.name:
            return not json
        case terminals.LOGS.name:
            return bool(request.follow)
        case timeline.EXPORT.name:
            return not json and (request.file or request.target) != "-"
    return follows_run(operation, request) and not json


def follows_run(operation: Operation, request: Any) -> bool:
    """Whether a run is looked at until it is over, so that how it ends is how the command ends."""
    match operation.name:
        case runs.START.name:
            return not request.detach
        case runs.SHOW.name:
            return bool(request.follow)
    return operation.name == runs.RESUME.name


async def hand_over(app: App, asked: Asked, channel: Channel) -> HandOver | None:
    """The server's part, and what is left to the client; None where the client cannot."""
    return await _PARTS[asked.operation.name](app, asked, channel)


async def _stop(app: App, asked: Asked, channel: Channel) -> HandOver | None:
    """Stop the server. The client waits for the end of the server, so that the data can be copied afterwards."""
    if not channel.can_go_on:
        return None
    stopped: server.Stopped = await app.call(asked.operation, asked.request, caller=asked.caller)
    view = View(channel.stdout_tty, channel.columns, channel.color)
    said = answers.as_json(stopped, pretty=view.tty).decode() if asked.json else render.stopped(stopped, view).out
    return HandOver("down", {"home": stopped.home, "pid": stopped.pid, "said": said})


async def _attach(app: App, asked: Asked, channel: Channel) -> HandOver:
    _require_this_machine(channel, "An agent's terminal")
    if not (channel.stdin_tty and channel.stdout_tty):
        raise errors.Invalid(
            "To attach, standard input and output must be a terminal.",
            hint=f"maestro session logs {asked.request.id} -f only follows what it shows.",
        )
    found: terminals.AgentTerminal = await app.call(asked.operation, asked.request, caller=asked.caller)
    facts = {
        "folder": found.folder,
        "name": found.name,
        "read_only": asked.request.read_only,
        "detach_key": asked.request.detach_key,
    }
    return HandOver("attach", facts)


async def _logs(app: App, asked: Asked, channel: Channel) -> HandOver:
    _require_this_machine(channel, "A transcript that is being written")
    found: terminals.Logs = await app.call(asked.operation, asked.request, caller=asked.caller)
    facts = {
        "folder": found.folder,
        "name": found.name,
        "tail": asked.request.tail,
        "limit": asked.request.limit,
        "json": asked.json,
        "color": channel.color,
    }
    return HandOver("logs", facts)


async def _run(app: App, asked: Asked, channel: Channel) -> HandOver | None:
    if not channel.can_go_on:
        return None
    found: runs.RunView = await app.call(asked.operation, asked.request, caller=asked.caller, key=asked.key)
    draw = channel.stdin_tty and channel.stdout_tty and channel.columns > 0
    return HandOver("run", {"id": found.id, "draw": draw, "color": channel.color})


async def _export(app: App, asked: Asked, channel: Channel) -> HandOver:
    """The client writes the file, with its own rights, and asks for the page on standard output."""
    if not channel.can_go_on:
        raise errors.Invalid("From afar the page comes on standard output only.", hint="Say - for FILE.")
    named = {name: getattr(asked.request, name) for name in ("run", "task", "session")}
    flags = [word for name, value in named.items() if value for word in (f"--{name}", value)]
    file, target = asked.request.file or asked.request.target, asked.request.target if asked.request.file else ""
    if not file or not (target or flags):
        raise errors.Invalid("Of what, and into which file?", hint="maestro timeline export TARGET FILE.html")
    here = ["--project", asked.request.project] if asked.request.project else []  # a session has its own project
    words = ["timeline", "export", *([target] if target else []), "-", *flags, *here]
    place = await client_files.place_for(app, channel, asked.caller, file)
    return HandOver("save", {"file": file, "words": words, "folder": place})


def _require_this_machine(channel: Channel, what: str) -> None:
    if not channel.can_go_on:
        raise errors.Invalid(f"{what} is on the server's machine.", hint="Run the command there.")


_PARTS: dict[str, Callable[[App, Asked, Channel], Awaitable[HandOver | None]]] = {
    server.STOP.name: _stop,
    terminals.ATTACH.name: _attach,
    terminals.LOGS.name: _logs,
    runs.START.name: _run,
    runs.SHOW.name: _run,
    runs.RESUME.name: _run,
    timeline.EXPORT.name: _export,
}
