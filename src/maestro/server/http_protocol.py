"""HTTP/1.1 with a bound on a request's head, and refusals below the routes that read like all others."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from maestro import limits
from maestro.errors import Invalid, TooLarge

if TYPE_CHECKING:
    from maestro.errors import MaestroError


def _refusal(status: str, error: MaestroError) -> bytes:
    body = json.dumps(error.as_dict(), separators=(",", ":")).encode()
    head = f"HTTP/1.1 {status}\r\nconnection: close\r\ncontent-type: application/json\r\n"
    return b"%scontent-length: %d\r\n\r\n%s" % (head.encode(), len(body), body)


_TOO_LARGE = _refusal("431 Request Header Fields Too Large", TooLarge("The head of the request is too large."))
# The parser's own reason is lost on the way; an address it cannot take in (past 64 KB) is among them.
_NOT_HTTP = _refusal("400 Bad Request", Invalid("This is no HTTP request, or its address is too long."))


class BoundedProtocol(HttpToolsProtocol):
    """Counts what has come of a head that is not complete yet: httptools itself would take in headers without end."""

    _head_bytes = 0
    _in_head = True

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
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._in_head, self._head_bytes = True, 0
        super().on_message_complete()
