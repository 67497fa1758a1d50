"""The connection of a request as the engine sees it, over HTTP or over the pipe of `maestro mcp`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Protocol

from maestro.domain.callers import Caller
from maestro.surfaces.mcp.calls import WAIT_SECONDS_DEFAULT, CallOptions
from maestro.surfaces.mcp.updates import ResourceUpdates

# How long clients wait for a tool's answer, minus a margin. Clients that Maestro starts get another limit, and send
# the limit with each request (MAESTRO_MCP_WAIT_SECONDS, or the header of the same name).
_TOOL_WAIT_SECONDS = {"claude": 1_700, "codex": 280, "gemini": 570}
CONNECTION_KEY = "maestro.connection"  # the scope's key of a request's connection
WAIT_SECONDS_HEADER = b"maestro-mcp-wait-seconds"
_WAIT_SECONDS_MAX = 24 * 3600


class McpConnection(Protocol):
    """The connection of a request, and its client."""

    client_gone: (
        asyncio.Event | None
    )  # set when the client or the server goes; None: the handler is cancelled instead
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


def tool_of(client: str) -> str:
    """Return the tool that a client's name contains, or an empty string."""
    lower_name = client.lower()
    return next((tool for tool in _TOOL_WAIT_SECONDS if tool in lower_name), "")


def wait_seconds(client: str, given: str) -> float:
    """Return how long a client waits for an answer: the given seconds, or the default of its tool."""
    if given.isascii() and given.isdigit() and len(given) < 10:
        return float(min(max(int(given), 1), _WAIT_SECONDS_MAX))
    return _TOOL_WAIT_SECONDS.get(tool_of(client), WAIT_SECONDS_DEFAULT)
