"""The server as the MCP surface sees it: the `App` of every surface, plus events, mailboxes and signatures."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from maestro.domain.callers import Caller
from maestro.domain.events import Event
from maestro.operations.app import App


class Listener(Protocol):
    """A subscription to events. A lagging listener has missed events, and its user must read all data again."""

    is_lagging: bool

    async def wait_for_event(self) -> None:
        """Wait until an event has arrived."""

    def take_events(self) -> list[Event]:
        """Return and remove the events that have arrived."""


class Host(App, Protocol):
    """The server, as the MCP surface sees it."""

    def subscribe_caller(self, caller: Caller) -> AbstractContextManager[Listener]:
        """Subscribe to the events of a caller's mail, session and project."""

    def mailboxes_of(self, caller: Caller) -> frozenset[str]:
        """Return the mailboxes of a caller."""

    async def refresh_caller(self, caller: Caller) -> Caller:
        """Return the same caller with its present rights."""

    def sign_text(self, text: str) -> str:
        """Return a signature that only this data directory can make."""
