"""Who is at the other end: what the engine asks of a request's way in, be it HTTP or the pipe of `maestro mcp`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Protocol

from maestro.domain.callers import Caller
from maestro.surfaces.mcp.calls import WAIT_SECONDS_DEFAULT, Order
from maestro.surfaces.mcp.updates import Updates

# How long clients wait for a tool's answer, with some to spare. Those we start ourselves are told another limit, and
# say which (MAESTRO_MCP_WAIT_SECONDS, or the header of the same name).
_PATIENCE_SECONDS = {"claude": 1_700, "codex": 280, "gemini": 570}
WAIT_SECONDS_HEADER = b"maestro-mcp-wait-seconds"
_WAIT_SECONDS_MAX = 24 * 3600


class Line(Protocol):
    """The way that a request came, and its client."""

    gone: asyncio.Event | None  # set when there is no more waiting; None: the handler is cancelled instead
    updates: Updates | None

    async def caller(self, client: str) -> Caller:
        """Who is calling; a MaestroError says why nobody is."""

    def order(self, request_id: int | str | None, name: str, arguments: Mapping[str, Any], client: str) -> Order:
        """How this call is to be carried out."""

    def shown(self, request_id: int | str | None, receipt: str, caller: Caller) -> None:
        """The answer to this request shows mail."""

    def listed(self, caller: Caller) -> None:
        """The client has been given the tools of this caller."""

    def end(self) -> None:
        """Hang up."""


def tool_of(client: str) -> str:
    """The program behind a client's name, as Maestro knows it; '' if none of those."""
    said = client.lower()
    return next((tool for tool in _PATIENCE_SECONDS if tool in said), "")


def patience(client: str, told: str) -> float:
    """How long a client waits for an answer: as it was told, else as its program does."""
    if told.isascii() and told.isdigit() and len(told) < 10:
        return float(min(max(int(told), 1), _WAIT_SECONDS_MAX))
    return _PATIENCE_SECONDS.get(tool_of(client), WAIT_SECONDS_DEFAULT)
