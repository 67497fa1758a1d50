"""Commands that the server starts and the client finishes alone, such as views and terminals.

The client draws where the terminal is, and a restart of the server does not interrupt the view.
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
class HandOverRequest:
    """A request and its caller, for a hand-over to the client."""

    operation: Operation
    request: Any
    caller: Caller
    key: str
    json: bool


def is_handed_over(operation: Operation, request: Any, *, json: bool) -> bool:
    """Return whether the client finishes this command."""
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
    """Return whether the command follows a run to its end. The exit code then tells the run's outcome."""
    match operation.name:
        case runs.START.name:
            return not request.detach
        case runs.SHOW.name:
            return bool(request.follow)
    return operation.name == runs.RESUME.name


async def hand_over(app: App, asked: HandOverRequest, channel: Channel) -> HandOver | None:
    """Do the server's part and return the client's part; None if this client cannot finish commands."""
    return await _SERVER_PARTS[asked.operation.name](app, asked, channel)


async def _stop_server(app: App, asked: HandOverRequest, channel: Channel) -> HandOver | None:
    """Stop the server. The client waits for the end of the server, so that the data can be copied afterwards."""
    if not channel.accepts_hand_over:
        return None
    stopped: server.StoppedServer = await app.call(asked.operation, asked.request, caller=asked.caller)
    view = View(channel.stdout_tty, channel.columns, channel.color)
    text = (
        answers.encode_json(stopped, pretty=view.tty).decode()
        if asked.json
        else render.render_stopped(stopped, view).out
    )
    return HandOver("down", {"home": stopped.home, "pid": stopped.pid, "text": text})


async def _attach_terminal(app: App, asked: HandOverRequest, channel: Channel) -> HandOver:
    _require_this_machine(channel, "An agent's terminal")
    if not (channel.stdin_tty and channel.stdout_tty):
        raise errors.Invalid(
            "To attach, standard input and output must be a terminal.",
            hint=f"To only follow the output: maestro session logs {asked.request.id} -f",
        )
    terminal: terminals.AgentTerminal = await app.call(asked.operation, asked.request, caller=asked.caller)
    facts = {
        "folder": terminal.folder,
        "name": terminal.name,
        "read_only": asked.request.read_only,
        "detach_key": asked.request.detach_key,
    }
    return HandOver("attach", facts)


async def _follow_logs(app: App, asked: HandOverRequest, channel: Channel) -> HandOver:
    _require_this_machine(channel, "A transcript that is being written")
    logs: terminals.SessionLogs = await app.call(asked.operation, asked.request, caller=asked.caller)
    facts = {
        "folder": logs.folder,
        "name": logs.name,
        "tail": asked.request.tail,
        "limit": asked.request.limit,
        "json": asked.json,
        "color": channel.color,
    }
    return HandOver("logs", facts)


async def _follow_run(app: App, asked: HandOverRequest, channel: Channel) -> HandOver | None:
    if not channel.accepts_hand_over:
        return None
    run: runs.RunView = await app.call(asked.operation, asked.request, caller=asked.caller, key=asked.key)
    draw = channel.stdin_tty and channel.stdout_tty and channel.columns > 0
    return HandOver("run", {"id": run.id, "draw": draw, "color": channel.color})


async def _export_story(app: App, asked: HandOverRequest, channel: Channel) -> HandOver:
    """Return the client's part: the client writes the file with its own rights, and requests the page as output."""
    if not channel.accepts_hand_over:
        raise errors.Invalid("A remote client gets the page only on standard output.", hint="Use - as FILE.")
    targets = {name: getattr(asked.request, name) for name in ("run", "task", "session")}
    flags = [argument for name, value in targets.items() if value for argument in (f"--{name}", value)]
    file, target = asked.request.file or asked.request.target, asked.request.target if asked.request.file else ""
    if not file or not (target or flags):
        raise errors.Invalid(
            "Name a run, a task or a session, and a file.", hint="maestro timeline export TARGET FILE.html"
        )
    project = ["--project", asked.request.project] if asked.request.project else []  # a session has its own project
    arguments = ["timeline", "export", *([target] if target else []), "-", *flags, *project]
    folder = await client_files.find_target_folder(app, channel, asked.caller, file)
    return HandOver("save", {"file": file, "arguments": arguments, "folder": folder})


def _require_this_machine(channel: Channel, subject: str) -> None:
    if not channel.accepts_hand_over:
        raise errors.Invalid(
            f"{subject} is on the server's machine.", hint="Run the command on the server's machine."
        )


_SERVER_PARTS: dict[str, Callable[[App, HandOverRequest, Channel], Awaitable[HandOver | None]]] = {
    server.STOP.name: _stop_server,
    terminals.ATTACH.name: _attach_terminal,
    terminals.LOGS.name: _follow_logs,
    runs.START.name: _follow_run,
    runs.SHOW.name: _follow_run,
    runs.RESUME.name: _follow_run,
    timeline.EXPORT.name: _export_story,
}
