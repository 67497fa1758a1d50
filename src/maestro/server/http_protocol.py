"""HTTP/1.1 with bounds on the size and the time of a request's head. Refusals have the error format of the routes."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections import deque
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from maestro.core import limits
from maestro.core.errors import Invalid, LimitReached, TimedOut, TooLarge
from maestro.server import connection_limits
from maestro.server.connection_limits import UnidentifiedConnections
from maestro.server.joined_writes import JoinedWrites
from maestro.surfaces.asgi import MARK_IDENTIFIED_KEY, OUTCOME_KEY
from maestro.surfaces.refusal_log import REFUSAL_LOG
from maestro.system import memory

if TYPE_CHECKING:
    from maestro.core.errors import MaestroError


def _encode_refusal(status: str, error: MaestroError) -> bytes:
    body = json.dumps(error.as_dict(), separators=(",", ":")).encode()
    head = f"HTTP/1.1 {status}\r\nconnection: close\r\ncontent-type: application/json\r\n"
    return b"%scontent-length: %d\r\n\r\n%s" % (head.encode(), len(body), body)


_TOO_LARGE = _encode_refusal("431 Request Header Fields Too Large", TooLarge("The head of the request is too large."))
# uvicorn drops the parser's reason. An address over 64 KB is among the possible reasons.
_NOT_HTTP = _encode_refusal(
    "400 Bad Request", Invalid("The data is not an HTTP request, or its address is too long.")
)
_TOO_SLOW = _encode_refusal(
    "408 Request Timeout", TimedOut("No complete request head with a valid token arrived in time.")
)
_TOO_MANY = _encode_refusal("503 Service Unavailable", LimitReached("Too many connections are open without a token."))


_RESET_SECONDS_MAX = 0.1
_TCP_CLOSE_WAIT = 8  # of Linux: the client has closed its end, and its system has not refused any data of ours


class TcpOutcome:
    """How a connection ended: whether the client has read every answer. An answer with mail depends on this."""

    is_watched = False  # an answer with mail was sent over the connection
    is_broken = False  # the client left, perhaps without reading every answer

    def note_client_close(self, descriptor: int) -> None:
        """Find out whether a client that closed its end has read every answer.

        The system of a client with unread data resets the connection at once or soon after. A copy of the socket
        stays open until then.
        """
        if self.is_watched and not self.is_broken and hasattr(socket, "TCP_INFO"):
            copy = socket.socket(fileno=os.dup(descriptor))
            asyncio.get_running_loop().call_later(_RESET_SECONDS_MAX, self._check_for_reset, copy)

    def _check_for_reset(self, copy: socket.socket) -> None:
        with copy:
            try:
                state = copy.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]
            except OSError:
                state = 0
            self.is_broken |= state != _TCP_CLOSE_WAIT


class BoundedProtocol(HttpToolsProtocol):
    """A connection that bounds the bytes and the time of a request's head: httptools accepts headers without end.

    The protocol also finds out whether a client that closed the connection has read every answer.
    """

    _head_bytes = 0
    _body_bytes = 0
    _is_dropping = False  # the request has its answer; the rest of its body is dropped
    _in_head = True
    _is_unidentified = True
    _timer: asyncio.TimerHandle | None = None

    def __init__(self, *args: Any, unidentified: UnidentifiedConnections, **uvicorn_arguments: Any) -> None:
        super().__init__(*args, **uvicorn_arguments)
        self._unidentified = unidentified
        self._cycles: deque[RequestResponseCycle] = deque()  # requests without an answer

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._outcome = TcpOutcome()
        super().connection_made(JoinedWrites(transport, self.loop))
        refusal = connection_limits.refuse_high_descriptor(transport.get_extra_info("socket").fileno())
        if refusal is not None:
            REFUSAL_LOG.log_refusal(refusal)
            self._refuse_request(_encode_refusal("503 Service Unavailable", refusal))
            return
        self._head_started_at = self.loop.time()
        self._start_timer(limits.http_head_seconds_max)
        self._unidentified.add(self)

    def eof_received(self) -> None:
        self._outcome.is_broken |= self._is_answering()
        self._outcome.note_client_close(self.transport.get_extra_info("socket").fileno())
        super().eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self._unidentified.discard(self)
        if self._timer is not None:
            self._timer.cancel()
        self._outcome.is_broken |= exc is not None or self._is_answering()
        self._disconnect_cycles()
        super().connection_lost(exc)

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def mark_identified(self) -> None:
        """Mark the connection as identified: its caller is known from now on."""
        self._is_unidentified = False
        self._unidentified.discard(self)

    def turn_away(self) -> None:
        """Close a connection without a caller, because newer connections need its place."""
        self._refuse_request(_TOO_MANY)

    def data_received(self, data: bytes) -> None:
        if self._is_dropping:
            return
        if self._in_head:
            if not self._head_bytes and not self._is_unidentified:
                self._head_started_at = self.loop.time()
            self._head_bytes += len(data)
        super().data_received(data)
        if not self._in_head or not self._head_bytes:
            return
        if self._head_bytes > limits.http_header_bytes_max:
            self._refuse_request(_TOO_LARGE)
        elif self._timer is None:
            self._start_timer(limits.http_head_seconds_max)

    def send_400_response(self, msg: str) -> None:
        self._refuse_request(_NOT_HTTP)

    def _refuse_request(self, answer: bytes) -> None:
        if not self.transport.is_closing():
            self.transport.write(answer)
            self.transport.close()

    def _refuse_rest_of_body(self, answer: bytes) -> None:
        """Answer in the middle of a body, and drop the rest of the body.

        A connection closed at once could lose the answer.
        """
        self._is_dropping = True
        self._disconnect_cycles()
        self.flow.resume_reading()
        self.transport.write(answer)
        self.loop.call_later(limits.refused_body_read_seconds_max, self.transport.close)

    def _disconnect_cycles(self) -> None:
        """Tell every request of the connection about the client's end. uvicorn tells only the last request."""
        for cycle in self._cycles:
            cycle.disconnected = True
            cycle.body = bytearray()
            cycle.message_event.set()

    def on_headers_complete(self) -> None:
        self._in_head = False
        self.scope[OUTCOME_KEY] = self._outcome  # type: ignore[literal-required]
        if self._is_unidentified:
            self.scope[MARK_IDENTIFIED_KEY] = self.mark_identified  # type: ignore[literal-required]
        super().on_headers_complete()
        self._keep_cycle()

    def _keep_cycle(self) -> None:
        """Remember the new request and forget answered requests: answers go out in the order of requests."""
        while self._cycles and self._cycles[0].response_complete:
            self._cycles.popleft()
        if self.cycle is not None:
            self._cycles.append(self.cycle)

    def on_body(self, body: bytes) -> None:
        self._body_bytes += len(body)
        try:
            super().on_body(body)
        except MemoryError as problem:  # otherwise the parser reports a fault of the request
            if fault := REFUSAL_LOG.find_system_fault(problem):
                self._refuse_rest_of_body(_encode_refusal("503 Service Unavailable", fault))

    def on_message_complete(self) -> None:
        if self._body_bytes > limits.large_body_bytes:
            memory.give_memory_back_soon()
        self._in_head, self._head_bytes, self._body_bytes = True, 0, 0
        super().on_message_complete()

    def _start_timer(self, seconds: float) -> None:
        self._timer = self.loop.call_later(seconds, self._check_time)

    def _check_time(self) -> None:
        """Close the connection if its time is over. An identified caller between two requests needs no timer."""
        self._timer = None
        if not self._is_unidentified and not (self._in_head and self._head_bytes):
            return
        seconds_left = self._head_started_at + limits.http_head_seconds_max - self.loop.time()
        if seconds_left > 0:
            self._start_timer(seconds_left)
        elif self._is_answering():
            self._start_timer(limits.http_head_seconds_max)  # an unfinished answer is never cut
        else:
            self._refuse_request(_TOO_SLOW)
