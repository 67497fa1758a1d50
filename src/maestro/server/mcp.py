"""Puts the MCP surface together. It is given what others have: answers as the command prints them, the guard."""

from __future__ import annotations

import re
from typing import Any

from maestro.operations.app import Peer
from maestro.prompts.calls import as_tools
from maestro.server.app import Server
from maestro.server.http import hosts
from maestro.surfaces.cli.channel import Piped
from maestro.surfaces.cli.commands import Pipe
from maestro.surfaces.cli.frames import Invocation
from maestro.surfaces.cli.render import answers
from maestro.surfaces.cli.render.style import View, finish
from maestro.surfaces.mcp.calls import Calls
from maestro.surfaces.mcp.endpoint import Endpoint
from maestro.surfaces.mcp.stdio import Origin, Stdio
from maestro.surfaces.rest.guard import Guard

_PLAIN = View()
# Where a renderer itself says what to call next; all else in an answer is someone's words, and stays as it is.
_NEXT = re.compile(r"(?m)^  (?:… cut short; the whole of it: |.*take it with: )maestro .*$")


def words(answer: Any) -> str:
    """An answer as text for a model: no colours, and tools where the command would name commands."""
    rendered = answers.render(answer, _PLAIN)
    out = rendered.out.decode(errors="replace") if isinstance(rendered.out, bytes) else rendered.out
    notes = "".join(f"{as_tools(note)}\n" for note in rendered.notes)
    return finish(_NEXT.sub(lambda found: as_tools(found[0]), out) + notes)


def endpoint(server: Server) -> Endpoint:
    """MCP over HTTP. What ends a session ends its clients' sessions too."""
    calls = Calls(server, words=words, hints=as_tools)
    made = Endpoint(server, calls, guard=Guard(hosts(server)).check, words=words)
    server.on_session_end = made.session_ended
    server.on_rights_change = made.listings.changed
    return made


def pipe(server: Server, made: Endpoint) -> Pipe:
    """What serves `maestro mcp`: the same engine as over HTTP."""
    stdio = Stdio(server, made.short, made.engine, made.listings)

    async def serve(channel: Piped, peer: Peer | None, invocation: Invocation) -> None:
        await stdio.serve(channel, Origin(peer, invocation.directory, invocation.environment))

    return serve
