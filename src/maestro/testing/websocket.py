"""The server's side of a WebSocket, for tests of the client's side."""

from __future__ import annotations

from maestro.runner.websocket import apply_mask

AGREED = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"
TEXT, CLOSE, PING, PONG, MORE = 0x1, 0x8, 0x9, 0xA, 0x0
LAST = 0x80


def encode_frame(kind: int, payload: bytes, *, is_last: bool = True) -> bytes:
    """Return a frame as a server sends it."""
    first = bytes([kind | (LAST if is_last else 0)])
    size = len(payload)
    if size < 126:
        return first + bytes([size]) + payload
    if size < 1 << 16:
        return first + b"\x7e" + size.to_bytes(2, "big") + payload
    return first + b"\x7f" + size.to_bytes(8, "big") + payload


def decode_client_frames(data: bytes) -> list[tuple[int, bytes]]:
    """Decode the frames of a client. Return kind and payload of each."""
    frames = []
    while data:
        kind, size, data = data[0], data[1], data[2:]
        assert kind & LAST and size & 0x80, "every frame of a client must be unfragmented and masked"
        size &= 0x7F
        size_bytes = {126: 2, 127: 8}.get(size, 0)
        if size_bytes:
            size, data = int.from_bytes(data[:size_bytes], "big"), data[size_bytes:]
        frames.append((kind & 0x0F, apply_mask(data[4 : 4 + size], data[:4])))
        data = data[4 + size :]
    return frames
