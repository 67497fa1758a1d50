"""The client side of a WebSocket (RFC 6455), without I/O: bytes in, whole messages and bytes out.

The module supports text in both directions, and no extensions: a program on its own socket needs no more. The client
does not check the answer to the handshake's key. The key protects from caches in between; a local socket has none.
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


class WebSocketBroken(Exception):
    """The received bytes are no WebSocket, or use a part of the protocol that this client does not support."""


class WebSocketClient:
    """One connection, from its handshake on."""

    def __init__(self) -> None:
        self.is_open = False  # the handshake is done
        self.is_closed = False  # the program has sent a close frame
        self._in = bytearray()
        self._message = bytearray()  # the received fragments of the present message
        self._is_in_message = False  # whether a message has begun and not ended
        self._out = bytearray()
        key = base64.b64encode(os.urandom(16))
        self._out += (
            b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " + key + b"\r\n\r\n"
        )

    def add_message(self, text: bytes) -> None:
        """Send one message. The handshake must be done."""
        self._add_frame(_TEXT, text)

    def take_outgoing(self) -> bytes:
        """Return and clear the bytes to send."""
        data = bytes(self._out)
        self._out.clear()
        return data

    def feed_bytes(self, data: bytes) -> list[bytes]:
        """Add received bytes; return the messages that are complete now. Answer pings."""
        self._in += data
        if not self.is_open and not self._finish_handshake():
            return []
        messages: list[bytes] = []
        while not self.is_closed and (frame := self._take_frame()) is not None:
            first, payload = frame
            kind = first & 0x0F
            if first & _RESERVED or kind not in (_TEXT, _BINARY, _MORE, _CLOSE, _PING, _PONG):
                raise WebSocketBroken(f"a frame of an unknown kind: {first:#x}")
            if kind in (_CLOSE, _PING, _PONG):
                self._handle_control_frame(kind, payload)
            elif (message := self._add_fragment(kind, payload, is_last=bool(first & _LAST))) is not None:
                messages.append(message)
        return messages

    def _finish_handshake(self) -> bool:
        """Return whether the handshake is done; raise Broken if the program refuses it."""
        end = self._in.find(b"\r\n\r\n")
        if end < 0:
            if len(self._in) > _HEAD_BYTES_MAX:
                raise WebSocketBroken(f"the answer to the handshake is longer than {_HEAD_BYTES_MAX} bytes")
            return False
        if not self._in.startswith(_SWITCHING):
            raise WebSocketBroken(bytes(self._in[:200]).decode("latin-1"))
        del self._in[: end + 4]
        self.is_open = True
        return True

    def _take_frame(self) -> tuple[int, bytes] | None:
        """Return the first byte and the payload of the next frame; None if the frame is incomplete."""
        if len(self._in) < 2:
            return None
        first, size = self._in[0], self._in[1]
        if size & _MASKED:
            raise WebSocketBroken("a masked frame; only a client may mask frames")
        begin = {_IN_TWO_BYTES: 4, _IN_EIGHT_BYTES: 10}.get(size, 2)
        if len(self._in) < begin:
            return None
        if begin > 2:
            size = int.from_bytes(self._in[2:begin], "big")
        if size + len(self._message) > _MESSAGE_BYTES_MAX:
            raise WebSocketBroken(f"a message of more than {_MESSAGE_BYTES_MAX} bytes")
        if len(self._in) < begin + size:
            return None
        payload = bytes(self._in[begin : begin + size])
        del self._in[: begin + size]
        return first, payload

    def _handle_control_frame(self, kind: int, payload: bytes) -> None:
        if len(payload) > _CONTROL_BYTES_MAX:
            raise WebSocketBroken("a control frame that is too long")
        if kind == _PING:
            self._add_frame(_PONG, payload)
        elif kind == _CLOSE:
            self.is_closed = True
            self._add_frame(_CLOSE, payload[:2])

    def _add_fragment(self, kind: int, payload: bytes, *, is_last: bool) -> bytes | None:
        if (kind == _MORE) != self._is_in_message:
            raise WebSocketBroken(
                "a fragment without a message" if kind == _MORE else "a message within another message"
            )
        self._is_in_message = not is_last
        self._message += payload
        if not is_last:
            return None
        message = bytes(self._message)
        self._message.clear()
        return message

    def _add_frame(self, kind: int, payload: bytes) -> None:
        size, mask = len(payload), os.urandom(4)
        if size < _IN_TWO_BYTES:
            head = bytes((_LAST | kind, _MASKED | size))
        elif size < 1 << 16:
            head = bytes((_LAST | kind, _MASKED | _IN_TWO_BYTES)) + size.to_bytes(2, "big")
        else:
            head = bytes((_LAST | kind, _MASKED | _IN_EIGHT_BYTES)) + size.to_bytes(8, "big")
        self._out += head + mask + apply_mask(payload, mask)


def apply_mask(payload: bytes, mask: bytes) -> bytes:
    """Return each byte combined with its byte of the mask. A second call restores the payload."""
    size = len(payload)
    key = (mask * (size // 4 + 1))[:size]
    return (int.from_bytes(payload, "big") ^ int.from_bytes(key, "big")).to_bytes(size, "big")
