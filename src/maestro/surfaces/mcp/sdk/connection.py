"""The connection of a request as the engine sees it, over HTTP or over the pipe of `maestro mcp`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Protocol

from maestro.domain.callers import Caller
from maestro.surfaces.mcp.tools.calls import CallOptions
from maestro.surfaces.mcp.tools.resource_updates import ResourceUpdates

CONNECTION_KEY = "maestro.connection"  # the scope's key of a request's connection


class McpConnection(Protocol):
    """The connection of a request, and its client."""

    # Set when the client or the server goes. None: the handler is cancelled instead.
    client_gone: asyncio.Event | None
    updates: ResourceUpdates | None

    async def identify_caller(self, client: str) -> Caller:
        """Return who is calling; raise a MaestroError if the caller is not known."""

    def call_options(
        self, request_id: int | str | None, name: str, arguments: Mapping[str, Any], client: str
    ) -> CallOptions:
        """Return the options of a tool call."""

    def note_shown_mail(self, request_id: int | str | None, receipt: str, caller: Caller) -> None:
        """Record that the answer to a request shows mail."""

    def note_listed_tools(self, caller: Caller) -> None:
        """Record that the client got the list of a caller's tools."""

    def hang_up(self) -> None:
        """Close the connection."""
