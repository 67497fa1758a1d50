"""HTTP/1.1 with a bound on a request's head, and refusals below the routes that read like all others."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from typing import TYPE_CHECKING

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from maestro import limits
from maestro.errors import Invalid, TooLarge
from maestro.surfaces.mcp.http import FATE

if TYPE_CHECKING:
    from maestro.errors import MaestroError


def _refusal(status: str, error: MaestroError) -> bytes:
    body = json.dumps(error.as_dict(), separators=(",", ":")).encode()
    head = f"HTTP/1.1 {status}\r\nconnection: close\r\ncontent-type: application/json\r\n"
    return b"%scontent-length: %d\r\n\r\n%s" % (head.encode(), len(body), body)


_TOO_LARGE = _refusal("431 Request Header Fields Too Large", TooLarge("The head of the request is too large."))
# The parser's own reason is lost on the way; an address it cannot take in (past 64 KB) is among them.
_NOT_HTTP = _refusal("400 Bad Request", Invalid("This is no HTTP request, or its address is too long."))


_REFUSED_SECONDS_MAX = 0.1
_CLOSE_WAIT = 8  # Linux's: the other side has closed, and has refused nothing that it was sent


class Fate:
    """What became of a connection."""

    is_watched = False  # something that was sent over it matters to somebody
    is_broken = False  # its client went away without having read all that it was sent, or may have

    def ended(self, descriptor: int) -> None:
        """The client has closed its side. One that reads no more has its system refuse what comes, or what lies there
        unread, in the same moment or soon after; the socket stays for so long."""
        if self.is_watched and not self.is_broken and hasattr(socket, "TCP_INFO"):
            same = socket.socket(fileno=os.dup(descriptor))
            asyncio.get_running_loop().call_later(_REFUSED_SECONDS_MAX, self._judge, same)

    def _judge(self, same: socket.socket) -> None:
        with same:
            try:
                state = same.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]
            except OSError:
                state = 0
            self.is_broken |= state != _CLOSE_WAIT


class BoundedProtocol(HttpToolsProtocol):
    """Counts what has come of a head that is not complete yet: httptools itself would take in headers without end.
    And it tells a client that hung up from one that had enough."""

    _head_bytes = 0
    _in_head = True

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._fate = Fate()
        super().connection_made(transport)

    def eof_received(self) -> None:
        self._fate.is_broken |= self._is_answering()
        self._fate.ended(self.transport.get_extra_info("socket").fileno())
        super().eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self._fate.is_broken |= exc is not None or self._is_answering()
        super().connection_lost(exc)

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def data_received(self, data: bytes) -> None:
        if self._in_head:
            self._head_bytes += len(data)
        super().data_received(data)
        if self._in_head and self._head_bytes > limits.http_header_bytes_max and not self.transport.is_closing():
            self.transport.write(_TOO_LARGE)
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        self.transport.write(_NOT_HTTP)
        self.transport.close()

    def on_headers_complete(self) -> None:
        self._in_head = False
        self.scope[FATE] = self._fate  # type: ignore[literal-required]
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._in_head, self._head_bytes = True, 0
        super().on_message_complete()
