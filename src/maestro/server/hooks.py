"""Puts the hook surface together, for both ways that hooks come."""

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
    """What both ways share."""
    return Hooks(server.hook_desk, server.hook_firings)


def endpoint(server: Server, made: Hooks) -> HookEndpoint:
    return HookEndpoint(server, made, guard=Guard(hosts(server)).check)


def command(server: Server, made: Hooks) -> Hook:
    """What serves `maestro hook`."""
    serving = HookCommand(server, made)

    async def serve(channel: Channel, peer: Peer | None, invocation: Invocation, words: list[str]) -> bool:
        token = invocation.environment.get(TOKEN, "")
        return await serving.serve(channel, words, peer=peer, directory=invocation.directory, token=token)

    return serve
