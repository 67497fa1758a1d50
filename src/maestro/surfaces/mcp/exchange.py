"""One request over HTTP, and who it is from."""

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
    """A request and the way back."""

    scope: Scope
    receive: Receive
    send: Send
    headers: Headers
    caller: Caller
    known: Known | None  # its session of the protocol
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
        """Whether it may begin a session, and says nothing out of the ordinary."""
        return self.known is None and VERSION not in self.headers and self._is_usual(both=True)

    def is_modern(self, message: Message) -> bool:
        """Of 2026-07-28, where every request speaks for itself, and its headers say the same as its body."""
        return (
            self.headers.get(VERSION) == MODERN.encode()
            and self.headers.get(b"mcp-method") == message.method.encode()
            and SESSION not in self.headers
            and self._is_usual(both=True)
        )

    def is_established(self) -> bool:
        """Of a session whose handshake is done, and nothing out of the ordinary."""
        known = self.known
        return (
            known is not None
            and known.ready
            and self.headers.get(VERSION, known.version) == known.version
            and self._is_usual(both=False)
        )

    def _is_usual(self, *, both: bool) -> bool:
        # A header that comes twice is the SDK's to judge.
        return len(self.headers) == len(self.scope["headers"]) and is_json(self.headers, both=both)

    async def answer(self, status: int, body: bytes) -> None:
        named = ((SESSION, self.known.outer.encode()),) if self.known is not None else ()
        await http.answer(self.send, status, body, *named)

    async def show(self, body: bytes, receipt: str, request_id: int | str) -> None:
        """Answer with mail, and note that it was handed over."""
        fate: Fate | None = self.scope.get(http.FATE)
        shown = Shown(receipt, self.caller, self.connection, request_id, fate)
        self.handing.begin(shown)
        await self.answer(200, body)
        await self.handing.end(shown, is_out=fate is None or not fate.is_broken)
