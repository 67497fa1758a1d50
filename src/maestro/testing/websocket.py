"""The server's half of a WebSocket, as far as tests of the client's need it."""

from __future__ import annotations

from maestro.runner.websocket import masked

AGREED = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"
TEXT, CLOSE, PING, PONG, MORE = 0x1, 0x8, 0x9, 0xA, 0x0
LAST = 0x80


def frame(kind: int, payload: bytes, *, is_last: bool = True) -> bytes:
    """As a server sends one."""
    first = bytes([kind | (LAST if is_last else 0)])
    size = len(payload)
    if size < 126:
        return first + bytes([size]) + payload
    if size < 1 << 16:
        return first + b"\x7e" + size.to_bytes(2, "big") + payload
    return first + b"\x7f" + size.to_bytes(8, "big") + payload


def said(data: bytes) -> list[tuple[int, bytes]]:
    """What a server makes of a client's frames."""
    found = []
    while data:
        kind, size, data = data[0], data[1], data[2:]
        assert kind & LAST and size & 0x80, "every frame of a client is whole, and masked"
        size &= 0x7F
        wide = {126: 2, 127: 8}.get(size, 0)
        if wide:
            size, data = int.from_bytes(data[:wide], "big"), data[wide:]
        found.append((kind & 0x0F, masked(data[4 : 4 + size], data[:4])))
        data = data[4 + size :]
    return found
