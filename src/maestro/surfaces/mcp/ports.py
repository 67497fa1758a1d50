"""What this surface sees of the server, beyond what every surface does: it may listen to what happens."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from maestro.domain.callers import Caller
from maestro.domain.events import Event
from maestro.operations.app import App


class Listener(Protocol):
    """Events as they come. One that lags has missed some, and looks at everything anew."""

    lagging: bool

    async def wait(self) -> None:
        """Until something has come."""

    def take(self) -> list[Event]:
        """What has come so far."""


class Host(App, Protocol):
    """The server, to this surface."""

    def listen(self, caller: Caller) -> AbstractContextManager[Listener]:
        """Hear of a caller's mail, its session and its project."""

    def boxes(self, caller: Caller) -> frozenset[str]:
        """Where a caller's mail lies."""

    async def anew(self, caller: Caller) -> Caller:
        """The same caller, with what it may by now."""

    def sign(self, text: str) -> str:
        """A mark that only this data directory can make."""
