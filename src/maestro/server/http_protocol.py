"""HTTP/1.1 with a bound on a request's head: httptools itself would take in headers without end."""

from __future__ import annotations

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from maestro import limits

_TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-type: application/json\r\n"
    b"content-length: 108\r\n\r\n"
    b'{"code":"too_large","message":"The head of the request is too large.","hint":"","retryable":false,"data":{}}'
)


class BoundedProtocol(HttpToolsProtocol):
    """Counts what has come of a head that is not complete yet."""

    _head_bytes = 0
    _in_head = True

    def data_received(self, data: bytes) -> None:
        if self._in_head:
            self._head_bytes += len(data)
        super().data_received(data)
        if self._in_head and self._head_bytes > limits.http_header_bytes_max and not self.transport.is_closing():
            self.transport.write(_TOO_LARGE)
            self.transport.close()

    def on_headers_complete(self) -> None:
        self._in_head = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._in_head, self._head_bytes = True, 0
        super().on_message_complete()
