"""Build the hook surface, for hooks over HTTP and for the command `maestro hook`."""

from __future__ import annotations

from maestro.operations.app import SocketPeer
from maestro.server.app import Server
from maestro.server.http import build_header_guard
from maestro.surfaces.cli.channel import Channel
from maestro.surfaces.cli.commands import TOKEN, Hook
from maestro.surfaces.cli.invocation import Invocation
from maestro.surfaces.hooks.answers import HookAnswers
from maestro.surfaces.hooks.command import HookCommand
from maestro.surfaces.hooks.http import HookEndpoint


def build_hook_answers(server: Server) -> HookAnswers:
    """Return the part that both transports share."""
    return HookAnswers(server.parts.hooks.handler, server.parts.hooks.firings)


def build_endpoint(server: Server, shared: HookAnswers) -> HookEndpoint:
    return HookEndpoint(server, shared, guard=build_header_guard(server).check_headers)


def build_hook_command(server: Server, shared: HookAnswers) -> Hook:
    """Return the function that serves `maestro hook`."""
    hook_command = HookCommand(server, shared)

    async def serve(channel: Channel, peer: SocketPeer | None, invocation: Invocation, arguments: list[str]) -> bool:
        token = invocation.environment.get(TOKEN, "")
        return await hook_command.serve_hook(
            channel, arguments, peer=peer, directory=invocation.directory, token=token
        )

    return serve
