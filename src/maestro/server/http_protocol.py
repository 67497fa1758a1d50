"""HTTP/1.1 with a bound on a request's head, and refusals below the routes that read like all others."""

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
from maestro.server import descriptors
from maestro.server.joined_writes import JoinedWrites
from maestro.server.strangers import Strangers
from maestro.surfaces.connections import ADMIT
from maestro.surfaces.mcp.http import FATE
from maestro.surfaces.refusals import REFUSALS
from maestro.system import memory

if TYPE_CHECKING:
    from maestro.core.errors import MaestroError


def _refusal(status: str, error: MaestroError) -> bytes:
    body = json.dumps(error.as_dict(), separators=(",", ":")).encode()
    head = f"HTTP/1.1 {status}\r\nconnection: close\r\ncontent-type: application/json\r\n"
    return b"%scontent-length: %d\r\n\r\n%s" % (head.encode(), len(body), body)


_TOO_LARGE = _refusal("431 Request Header Fields Too Large", TooLarge("The head of the request is too large."))
# The parser's own reason is lost on the way; an address it cannot take in (past 64 KB) is among them.
_NOT_HTTP = _refusal("400 Bad Request", Invalid("This is no HTTP request, or its address is too long."))
_TOO_SLOW = _refusal("408 Request Timeout", TimedOut("The head of the request, with a token, did not come in time."))
_TOO_MANY = _refusal("503 Service Unavailable", LimitReached("Too many connections have shown no token."))


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
    """Bound the bytes and the time of a head: httptools itself would take in headers without end.
    And it tells a client that hung up from one that had enough."""

    _head_bytes = 0
    _body_bytes = 0
    _is_dropping = False  # the request was answered before its end
    _in_head = True
    _is_stranger = True
    _timer: asyncio.TimerHandle | None = None

    def __init__(self, *args: Any, strangers: Strangers, **named: Any) -> None:
        super().__init__(*args, **named)
        self._strangers = strangers
        self._cycles: deque[RequestResponseCycle] = deque()  # requests that are not answered yet

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._fate = Fate()
        super().connection_made(JoinedWrites(transport, self.loop))
        refusal = descriptors.refusal(transport.get_extra_info("socket").fileno())
        if refusal is not None:
            REFUSALS.note(refusal)
            self._refuse(_refusal("503 Service Unavailable", refusal))
            return
        self._since = self.loop.time()
        self._look_in(limits.http_head_seconds_max)
        self._strangers.add(self)

    def eof_received(self) -> None:
        self._fate.is_broken |= self._is_answering()
        self._fate.ended(self.transport.get_extra_info("socket").fileno())
        super().eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self._strangers.discard(self)
        if self._timer is not None:
            self._timer.cancel()
        self._fate.is_broken |= exc is not None or self._is_answering()
        self._disconnect_cycles()
        super().connection_lost(exc)

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def admit(self) -> None:
        """Count the connection as a known caller's from now on."""
        self._is_stranger = False
        self._strangers.discard(self)

    def turn_away(self) -> None:
        """Close a connection that showed no caller, because newer ones need the room."""
        self._refuse(_TOO_MANY)

    def data_received(self, data: bytes) -> None:
        if self._is_dropping:
            return
        if self._in_head:
            if not self._head_bytes and not self._is_stranger:
                self._since = self.loop.time()
            self._head_bytes += len(data)
        super().data_received(data)
        if not self._in_head or not self._head_bytes:
            return
        if self._head_bytes > limits.http_header_bytes_max:
            self._refuse(_TOO_LARGE)
        elif self._timer is None:
            self._look_in(limits.http_head_seconds_max)

    def send_400_response(self, msg: str) -> None:
        self._refuse(_NOT_HTTP)

    def _refuse(self, answer: bytes) -> None:
        if not self.transport.is_closing():
            self.transport.write(answer)
            self.transport.close()

    def _refuse_rest(self, answer: bytes) -> None:
        """Answer in the middle of a body. The rest is read and dropped: to close at once could cost the answer."""
        self._is_dropping = True
        self._disconnect_cycles()
        self.flow.resume_reading()
        self.transport.write(answer)
        self.loop.call_later(limits.http_drop_seconds_max, self.transport.close)

    def _disconnect_cycles(self) -> None:
        """Tell every request of the connection that its client is gone. uvicorn tells only the last one."""
        for cycle in self._cycles:
            cycle.disconnected = True
            cycle.body = bytearray()
            cycle.message_event.set()

    def on_headers_complete(self) -> None:
        self._in_head = False
        self.scope[FATE] = self._fate  # type: ignore[literal-required]
        if self._is_stranger:
            self.scope[ADMIT] = self.admit  # type: ignore[literal-required]
        super().on_headers_complete()
        self._keep_cycle()

    def _keep_cycle(self) -> None:
        """Remember the new request and forget the answered ones: answers come in the order of requests."""
        while self._cycles and self._cycles[0].response_complete:
            self._cycles.popleft()
        if self.cycle is not None:
            self._cycles.append(self.cycle)

    def on_body(self, body: bytes) -> None:
        self._body_bytes += len(body)
        try:
            super().on_body(body)
        except MemoryError as problem:  # else the parser takes it for a fault of the request
            if fault := REFUSALS.fault_of(problem):
                self._refuse_rest(_refusal("503 Service Unavailable", fault))

    def on_message_complete(self) -> None:
        if self._body_bytes > limits.large_body_bytes:
            memory.give_back_soon()
        self._in_head, self._head_bytes, self._body_bytes = True, 0, 0
        super().on_message_complete()

    def _look_in(self, seconds: float) -> None:
        self._timer = self.loop.call_later(seconds, self._check_time)

    def _check_time(self) -> None:
        """Close the connection if its time is over. Without a head under way, a known caller needs no timer."""
        self._timer = None
        if not self._is_stranger and not (self._in_head and self._head_bytes):
            return
        left = self._since + limits.http_head_seconds_max - self.loop.time()
        if left > 0:
            self._look_in(left)
        elif self._is_answering():
            self._look_in(limits.http_head_seconds_max)  # an answer under way is never cut
        else:
            self._refuse(_TOO_SLOW)
