"""The client's half of a WebSocket (RFC 6455), without any I/O: bytes in, whole messages and bytes out.

Only what an agent on a socket of its own needs: text, both ways. No extension is asked for. That the other end has
understood the handshake's key is not looked at, which is there against caches in between: here is nobody in between.
"""

from __future__ import annotations

import base64
import os

_TEXT, _BINARY, _CLOSE, _PING, _PONG, _MORE = 0x1, 0x2, 0x8, 0x9, 0xA, 0x0
_LAST, _MASKED = 0x80, 0x80
_RESERVED = 0x70  # bits of extensions
_IN_TWO_BYTES, _IN_EIGHT_BYTES = 126, 127
_CONTROL_BYTES_MAX = 125
_HEAD_BYTES_MAX = 64 * 1024
_MESSAGE_BYTES_MAX = 64 * 1024 * 1024
_SWITCHING = b"HTTP/1.1 101"


class Broken(Exception):
    """What came is no WebSocket, or not one that we speak."""


class Client:
    """One connection, from its handshake on."""

    def __init__(self) -> None:
        self.is_open = False  # the handshake is done
        self.is_closed = False  # the other end has said goodbye
        self._in = bytearray()
        self._message = bytearray()  # as far as its fragments have come
        self._is_within = False  # a message has begun, and not ended
        self._out = bytearray()
        key = base64.b64encode(os.urandom(16))
        self._out += (
            b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " + key + b"\r\n\r\n"
        )

    def say(self, text: bytes) -> None:
        """One message; only once it is open."""
        self._frame(_TEXT, text)

    def close(self) -> None:
        """Goodbye."""
        self._frame(_CLOSE, b"")

    def outgoing(self) -> bytes:
        """What is to be sent."""
        data = bytes(self._out)
        self._out.clear()
        return data

    def feed(self, data: bytes) -> list[bytes]:
        """What came, as far as it has come; the messages that are whole now. Pings are answered."""
        self._in += data
        if not self.is_open and not self._shake():
            return []
        found: list[bytes] = []
        while not self.is_closed and (frame := self._next()) is not None:
            first, payload = frame
            kind = first & 0x0F
            if first & _RESERVED or kind not in (_TEXT, _BINARY, _MORE, _CLOSE, _PING, _PONG):
                raise Broken(f"a frame of an unknown kind: {first:#x}")
            if kind in (_CLOSE, _PING, _PONG):
                self._controlled(kind, payload)
            elif (message := self._gather(kind, payload, is_last=bool(first & _LAST))) is not None:
                found.append(message)
        return found

    def _shake(self) -> bool:
        """Whether the other end has agreed."""
        end = self._in.find(b"\r\n\r\n")
        if end < 0:
            if len(self._in) > _HEAD_BYTES_MAX:
                raise Broken("an endless answer to the handshake")
            return False
        if not self._in.startswith(_SWITCHING):
            raise Broken(bytes(self._in[:200]).decode("latin-1"))
        del self._in[: end + 4]
        self.is_open = True
        return True

    def _next(self) -> tuple[int, bytes] | None:
        """One frame, if all of it is there: its first byte and what it holds."""
        if len(self._in) < 2:
            return None
        first, size = self._in[0], self._in[1]
        if size & _MASKED:
            raise Broken("a masked frame, which only a client sends")
        begin = {_IN_TWO_BYTES: 4, _IN_EIGHT_BYTES: 10}.get(size, 2)
        if len(self._in) < begin:
            return None
        if begin > 2:
            size = int.from_bytes(self._in[2:begin], "big")
        if size + len(self._message) > _MESSAGE_BYTES_MAX:
            raise Broken(f"a message of more than {_MESSAGE_BYTES_MAX} bytes")
        if len(self._in) < begin + size:
            return None
        payload = bytes(self._in[begin : begin + size])
        del self._in[: begin + size]
        return first, payload

    def _controlled(self, kind: int, payload: bytes) -> None:
        if len(payload) > _CONTROL_BYTES_MAX:
            raise Broken("a control frame that is too long")
        if kind == _PING:
            self._frame(_PONG, payload)
        elif kind == _CLOSE:
            self.is_closed = True
            self._frame(_CLOSE, payload[:2])

    def _gather(self, kind: int, payload: bytes, *, is_last: bool) -> bytes | None:
        if (kind == _MORE) != self._is_within:
            raise Broken("a fragment that belongs to nothing" if kind == _MORE else "a message within another")
        self._is_within = not is_last
        self._message += payload
        if not is_last:
            return None
        message = bytes(self._message)
        self._message.clear()
        return message

    def _frame(self, kind: int, payload: bytes) -> None:
        size, mask = len(payload), os.urandom(4)
        if size < _IN_TWO_BYTES:
            head = bytes((_LAST | kind, _MASKED | size))
        elif size < 1 << 16:
            head = bytes((_LAST | kind, _MASKED | _IN_TWO_BYTES)) + size.to_bytes(2, "big")
        else:
            head = bytes((_LAST | kind, _MASKED | _IN_EIGHT_BYTES)) + size.to_bytes(8, "big")
        self._out += head + mask + masked(payload, mask)


def masked(payload: bytes, mask: bytes) -> bytes:
    """Each byte with its part of the mask; twice is as before."""
    size = len(payload)
    key = (mask * (size // 4 + 1))[:size]
    return (int.from_bytes(payload, "big") ^ int.from_bytes(key, "big")).to_bytes(size, "big")
