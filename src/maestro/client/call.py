"""One command asked of the server by a program of ours: no terminal, its output kept (docs/frames.md).

As light as the command itself: runners live as long as their agents, so they import nothing that is large.
"""

from __future__ import annotations

import _socket
import os

from maestro import __version__
from maestro.client import thin

_SECONDS_MAX = 30.0


class Answer:
    """How a command ended."""

    def __init__(self, code: int, out: bytes, err: bytes) -> None:
        self.code = code
        self.out = out
        self.err = err


def ask(words: list[str], *, path: str, environment: dict[str, str]) -> Answer:
    """Carries out one command; OSError if no server answers, or it goes away before the answer is complete."""
    sock = thin.connect(path)
    try:
        sock.settimeout(_SECONDS_MAX)
        _send(sock, b"R", _request(words, environment))
        return _answer(sock)
    finally:
        sock.close()


def _request(words: list[str], environment: dict[str, str]) -> bytes:
    head = [thin.PROTOCOL, b"runner", __version__.encode(), b"000", b"0", b"-"]
    head += [os.fsencode(f"{name}={value}") for name, value in environment.items()]
    return b"\0".join(head) + b"\0\0" + b"".join(os.fsencode(word) + b"\0" for word in words)


def _answer(sock: _socket.socket) -> Answer:
    said = {b"O": b"", b"E": b""}
    while True:
        kind, payload = _frame(sock)
        if kind in said:
            said[kind] += payload
        elif kind == b"C":
            _send(sock, b"C", b"")
        elif kind == b"X":
            return Answer(int(payload), said[b"O"], said[b"E"])
        elif kind != b"W":
            raise OSError(f"the server asked for something that only a terminal has ({kind!r})")


def _frame(sock: _socket.socket) -> tuple[bytes, bytes]:
    head = _take(sock, 5)
    return head[:1], _take(sock, int.from_bytes(head[1:], "big"))


def _take(sock: _socket.socket, size: int) -> bytes:
    parts, have = [], 0
    while have < size:
        data = sock.recv(min(size - have, thin.CHUNK_BYTES))
        if not data:
            raise ConnectionResetError("the server went away")
        parts.append(data)
        have += len(data)
    return b"".join(parts)


def _send(sock: _socket.socket, kind: bytes, payload: bytes) -> None:
    view = memoryview(thin.frame(kind, payload))
    while view:
        view = view[sock.send(view) :]
