"""The services that the hook surface uses, besides the `App` of every surface."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from maestro.domain.callers import Caller
from maestro.tools.hooks.base import Happening, Reply

Waits = Callable[[], Awaitable[None]]


class Desk(Protocol):
    """The handler that decides the replies to hooks."""

    async def happened(self, caller: Caller, happening: Happening, *, holds: Waits) -> Reply:
        """Return the reply to a session's hook. Announce the hold before a wait for a person's answer."""

    async def handed(self, caller: Caller, reply: Reply, *, is_out: bool) -> None:
        """Record whether an answer was sent."""


class Notes(Protocol):
    """The record of fired and failed hooks."""

    def fired(self, tool: str, event: str) -> None: ...

    def failed(self, tool: str, event: str, problem: str) -> None: ...
