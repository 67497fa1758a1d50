"""Build the surfaces of a server: HTTP with REST, MCP and hooks, and the command line."""

from __future__ import annotations

import msgspec

from maestro.server import hooks, mcp
from maestro.server.app import Server
from maestro.server.http import HttpApplication
from maestro.surfaces.cli.commands import CommandLine
from maestro.surfaces.mcp.http.endpoint import McpEndpoint


class Surfaces(msgspec.Struct, frozen=True):
    """The surfaces of one server."""

    http: HttpApplication
    command_line: CommandLine
    mcp: McpEndpoint


def build_surfaces(server: Server) -> Surfaces:
    """Connect every surface to a server. HTTP and the command line share the MCP engine and the answers to hooks."""
    mcp_endpoint = mcp.build_endpoint(server)
    hook_answers = hooks.build_hook_answers(server)
    return Surfaces(
        http=HttpApplication(server, mcp_endpoint, hooks.build_endpoint(server, hook_answers)),
        command_line=CommandLine(
            server,
            pipe=mcp.build_pipe_server(server, mcp_endpoint),
            hook=hooks.build_hook_command(server, hook_answers),
        ),
        mcp=mcp_endpoint,
    )
