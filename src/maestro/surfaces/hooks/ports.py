"""What this surface sees of the server, beyond what every surface does."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from maestro.domain.callers import Caller
from maestro.tools.hooks.base import Happening, Reply

Waits = Callable[[], Awaitable[None]]


class Desk(Protocol):
    """Where hooks are answered."""

    async def happened(self, caller: Caller, happening: Happening, *, holds: Waits) -> Reply:
        """What to say to a session's hook. `holds` is told before an answer takes as long as a person does."""

    async def handed(self, caller: Caller, reply: Reply, *, is_out: bool) -> None:
        """An answer went out, or could not be given."""


class Notes(Protocol):
    """Which hooks fired, and what went wrong."""

    def fired(self, tool: str, event: str) -> None: ...

    def failed(self, tool: str, event: str, problem: str) -> None: ...
