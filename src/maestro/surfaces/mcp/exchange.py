"""An MCP request over HTTP, with its caller, session and answer."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.types import Receive, Scope, Send

from maestro.domain.callers import Caller
from maestro.surfaces.mcp import http
from maestro.surfaces.mcp.handing import Fate, Handing, Shown
from maestro.surfaces.mcp.known import Known
from maestro.surfaces.mcp.requests import MODERN, SESSION, VERSION, Headers, Message, is_json


@dataclass
class Exchange:
    """A request, and the functions that send the answer."""

    scope: Scope
    receive: Receive
    send: Send
    headers: Headers
    caller: Caller
    known: Known | None  # the MCP session of the request
    handing: Handing
    body: bytes = b""

    @property
    def method(self) -> str:
        method: str = self.scope["method"]
        return method

    @property
    def connection(self) -> object:
        return self.scope.get("client")

    def is_hello(self) -> bool:
        """Return whether the request may start a session, and has only usual headers."""
        return self.known is None and VERSION not in self.headers and self._has_usual_headers(both=True)

    def is_modern(self, message: Message) -> bool:
        """Return whether the request follows 2026-07-28: it needs no session, and its headers agree with its body."""
        return (
            self.headers.get(VERSION) == MODERN.encode()
            and self.headers.get(b"mcp-method") == message.method.encode()
            and SESSION not in self.headers
            and self._has_usual_headers(both=True)
        )

    def is_established(self) -> bool:
        """Return whether the request belongs to an initialized session, and has only usual headers."""
        session = self.known
        return (
            session is not None
            and session.ready
            and self.headers.get(VERSION, session.version) == session.version
            and self._has_usual_headers(both=False)
        )

    def _has_usual_headers(self, *, both: bool) -> bool:
        # The SDK decides about a header that is present twice.
        return len(self.headers) == len(self.scope["headers"]) and is_json(self.headers, both=both)

    async def answer(self, status: int, body: bytes) -> None:
        headers = ((SESSION, self.known.outer.encode()),) if self.known is not None else ()
        await http.answer(self.send, status, body, *headers)

    async def show(self, body: bytes, receipt: str, request_id: int | str) -> None:
        """Send an answer with mail, and confirm the mail as delivered."""
        outcome: Fate | None = self.scope.get(http.FATE)
        shown = Shown(receipt, self.caller, self.connection, request_id, outcome)
        self.handing.begin(shown)
        await self.answer(200, body)
        await self.handing.end(shown, is_out=outcome is None or not outcome.is_broken)
