"""Build the hook surface, for hooks over HTTP and for the command `maestro hook`."""

from __future__ import annotations

from maestro.operations.app import SocketPeer
from maestro.server.app import Server
from maestro.server.http import allowed_hosts
from maestro.surfaces.cli.channel import Channel
from maestro.surfaces.cli.commands import TOKEN, Hook
from maestro.surfaces.cli.invocation import Invocation
from maestro.surfaces.hooks.answers import HookAnswers
from maestro.surfaces.hooks.command import HookCommand
from maestro.surfaces.hooks.http import HookEndpoint
from maestro.surfaces.rest.guard import HeaderGuard


def build_hook_answers(server: Server) -> HookAnswers:
    """Return the part that both transports share."""
    return HookAnswers(server.hook_handler, server.hook_firings)


def build_endpoint(server: Server, shared: HookAnswers) -> HookEndpoint:
    return HookEndpoint(server, shared, guard=HeaderGuard(allowed_hosts(server)).check_headers)


def build_hook_command(server: Server, shared: HookAnswers) -> Hook:
    """Return the function that serves `maestro hook`."""
    hook_command = HookCommand(server, shared)

    async def serve(channel: Channel, peer: SocketPeer | None, invocation: Invocation, arguments: list[str]) -> bool:
        token = invocation.environment.get(TOKEN, "")
        return await hook_command.serve_hook(
            channel, arguments, peer=peer, directory=invocation.directory, token=token
        )

    return serve
