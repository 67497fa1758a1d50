"""An HTTP request that the SDK answers: the connection that the engine sees, and the relay of the answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from starlette.types import Message, Receive, Scope, Send

from maestro.domain.callers import Caller
from maestro.surfaces.mcp import http
from maestro.surfaces.mcp.calls import Order
from maestro.surfaces.mcp.handing import Handing, Shown
from maestro.surfaces.mcp.known import Known
from maestro.surfaces.mcp.lines import WAIT_SECONDS_HEADER, patience
from maestro.surfaces.mcp.requests import Headers
from maestro.surfaces.mcp.updates import Updates


class HttpLine:
    """The connection of one HTTP request, as the engine sees it."""

    def __init__(self, caller: Caller, headers: Headers, known: Known | None, *, hang_up: Callable[[], None]) -> None:
        self.gone = asyncio.Event()
        self.over = asyncio.Event()
        self.is_answering = False  # False for a stream, which lasts until client or server closes it
        self.answers: tuple[int | str | None, str] | None = (
            None  # a request's id, and the receipt of the mail in its answer
        )
        self._caller = caller
        self._wait_seconds_header = headers.get(WAIT_SECONDS_HEADER, b"").decode("latin-1")
        self._known = known
        self._hang_up = hang_up

    @property
    def updates(self) -> Updates | None:
        return self._known.updates if self._known is not None else None

    @updates.setter
    def updates(self, updates: Updates | None) -> None:
        if self._known is not None:
            self._known.updates = updates

    async def caller(self, client: str) -> Caller:
        return self._caller

    def order(self, request_id: int | str | None, name: str, arguments: Mapping[str, Any], client: str) -> Order:
        return Order(seconds_max=patience(client, self._wait_seconds_header))

    def shown(self, request_id: int | str | None, receipt: str, caller: Caller) -> None:
        self.answers = (request_id, receipt)

    def listed(self, caller: Caller) -> None:
        if self._known is not None and self._known.listing is not None:
            self._known.listing.told(caller)

    def end(self) -> None:
        self._hang_up()


class Way:
    """A relay between a client and the SDK that renames the session id, and notices a client that hangs up early."""

    def __init__(self, receive: Receive, send: Send, *, renamed: Callable[[Message], Message]) -> None:
        self.is_broken = False
        self.shown: Shown | None = None
        self.before_end: Callable[[], Shown | None] = lambda: None
        self._receive = receive
        self._send = send
        self._rename_session = renamed
        self._is_complete = False

    async def receive(self) -> Message:
        message = await self._receive()
        self.is_broken |= message["type"] == "http.disconnect" and not self._is_complete
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            message = self._rename_session(message)
        elif message["type"] == "http.response.body":
            if self.shown is None:
                self.shown = self.before_end()  # from here on the client may have the answer, and call again
            self._is_complete |= not message.get("more_body")
        await self._send(message)


def shown_by(line: HttpLine, caller: Caller, scope: Scope, handing: Handing) -> Shown | None:
    """Record the mail that an answer shows, before the answer is sent; return None for an answer without mail."""
    if line.answers is None:
        return None
    request_id, receipt = line.answers
    shown = Shown(receipt, caller, scope.get("client"), request_id, scope.get(http.FATE))
    handing.begin(shown)
    return shown
