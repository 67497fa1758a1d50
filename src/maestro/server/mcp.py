"""Build the MCP surface, with the renderer of the command surface and the header check of the REST surface."""

from __future__ import annotations

import re
from typing import Any

from maestro.domain.events import EventKind
from maestro.operations.app import SocketPeer
from maestro.prompts.call_names import replace_commands_with_tools
from maestro.server.app import Server
from maestro.server.http import build_header_guard
from maestro.server.part import Reaction
from maestro.surfaces.cli.channel import PipedChannel
from maestro.surfaces.cli.commands import Pipe
from maestro.surfaces.cli.invocation import Invocation
from maestro.surfaces.cli.render import answers
from maestro.surfaces.cli.render.style import View, finish_text
from maestro.surfaces.mcp.http.endpoint import McpEndpoint
from maestro.surfaces.mcp.stdio.server import PipeOrigin, StdioServer
from maestro.surfaces.mcp.tools.calls import ToolCalls

_PLAIN_VIEW = View()
# The lines in which the renderer of mail names the next command. Lines of a quoted body begin with "  | ".
_NEXT_COMMAND = re.compile(r"(?m)^  (?!\| )(?:… cut short; full text: |.*claim the thread with: )maestro .*$")


def render_answer(answer: Any) -> str:
    """Return an answer as text for a model: without colours, and with the names of tools instead of commands."""
    rendered = answers.render_answer(answer, _PLAIN_VIEW)
    out = rendered.out.decode(errors="replace") if isinstance(rendered.out, bytes) else rendered.out
    notes = "".join(f"{replace_commands_with_tools(note)}\n" for note in rendered.notes)
    return finish_text(_NEXT_COMMAND.sub(lambda match: replace_commands_with_tools(match[0]), out) + notes)


def build_endpoint(server: Server) -> McpEndpoint:
    """Return the MCP endpoint. The end of a Maestro session also ends the MCP sessions of its clients."""
    calls = ToolCalls(server, render_answer=render_answer, render_hint=replace_commands_with_tools)
    new_endpoint = McpEndpoint(
        server, calls, guard=build_header_guard(server).check_headers, render_answer=render_answer
    )
    server.reactions.add_reactions(
        (
            Reaction((EventKind.SESSION_ENDED, EventKind.SESSION_LOST), new_endpoint.hang_up_on_session),
            Reaction((EventKind.MEMBER_CHANGED,), lambda member_id: new_endpoint.tool_lists.schedule_check()),
        )
    )
    return new_endpoint


def build_pipe_server(server: Server, mcp_endpoint: McpEndpoint) -> Pipe:
    """Return the function that serves `maestro mcp`, with the same engine as over HTTP."""
    stdio = StdioServer(server, mcp_endpoint.fast_path, mcp_endpoint.engine, mcp_endpoint.tool_lists)

    async def serve(channel: PipedChannel, peer: SocketPeer | None, invocation: Invocation) -> None:
        await stdio.serve_pipe(channel, PipeOrigin(peer, invocation.directory, invocation.environment))

    return serve
