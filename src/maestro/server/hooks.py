"""Build the hook surface, for hooks over HTTP and for the command `maestro hook`."""

from __future__ import annotations

from maestro.operations.app import Peer
from maestro.server.app import Server
from maestro.server.http import hosts
from maestro.surfaces.cli.channel import Channel
from maestro.surfaces.cli.commands import TOKEN, Hook
from maestro.surfaces.cli.frames import Invocation
from maestro.surfaces.hooks.answers import Hooks
from maestro.surfaces.hooks.command import HookCommand
from maestro.surfaces.hooks.http import HookEndpoint
from maestro.surfaces.rest.guard import Guard


def hooks(server: Server) -> Hooks:
    """Return the part that both transports share."""
    return Hooks(server.hook_desk, server.hook_firings)


def endpoint(server: Server, shared: Hooks) -> HookEndpoint:
    return HookEndpoint(server, shared, guard=Guard(hosts(server)).check)


def command(server: Server, shared: Hooks) -> Hook:
    """Return the function that serves `maestro hook`."""
    hook_command = HookCommand(server, shared)

    async def serve(channel: Channel, peer: Peer | None, invocation: Invocation, arguments: list[str]) -> bool:
        token = invocation.environment.get(TOKEN, "")
        return await hook_command.serve(channel, arguments, peer=peer, directory=invocation.directory, token=token)

    return serve
