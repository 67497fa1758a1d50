"""Build the MCP surface, with the renderer of the command surface and the header check of the REST surface."""

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

_PLAIN_VIEW = View()
# The lines in which a renderer names the next command. All other text of an answer stays as its author wrote it.
_NEXT_COMMAND = re.compile(r"(?m)^  (?:… cut short; the whole of it: |.*take it with: )maestro .*$")


def words(answer: Any) -> str:
    """Return an answer as text for a model: without colours, and with the names of tools instead of commands."""
    rendered = answers.render(answer, _PLAIN_VIEW)
    out = rendered.out.decode(errors="replace") if isinstance(rendered.out, bytes) else rendered.out
    notes = "".join(f"{as_tools(note)}\n" for note in rendered.notes)
    return finish(_NEXT_COMMAND.sub(lambda match: as_tools(match[0]), out) + notes)


def endpoint(server: Server) -> Endpoint:
    """Return the MCP endpoint. The end of a Maestro session also ends the MCP sessions of its clients."""
    calls = Calls(server, words=words, hints=as_tools)
    new_endpoint = Endpoint(server, calls, guard=Guard(hosts(server)).check, words=words)
    server.on_session_end = new_endpoint.session_ended
    server.on_rights_change = new_endpoint.listings.changed
    return new_endpoint


def pipe(server: Server, mcp_endpoint: Endpoint) -> Pipe:
    """Return the function that serves `maestro mcp`, with the same engine as over HTTP."""
    stdio = Stdio(server, mcp_endpoint.short, mcp_endpoint.engine, mcp_endpoint.listings)

    async def serve(channel: Piped, peer: Peer | None, invocation: Invocation) -> None:
        await stdio.serve(channel, Origin(peer, invocation.directory, invocation.environment))

    return serve
