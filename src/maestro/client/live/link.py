"""A connection to the runner of one agent, in the frames of docs/frames.md."""

from __future__ import annotations

import json
import os
import socket
from typing import Any

SOCKET = "control.sock"
_HEAD = 5
_CHUNK = 1 << 16
_SECONDS_MAX = 10.0


class Link:
    """OSError from any of it: the runner is gone, or has let us go."""

    def __init__(self, folder: str) -> None:
        self._in = bytearray()
        self._sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._sock.settimeout(_SECONDS_MAX)
        here = os.open(".", os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.chdir(folder)  # a bare name fits into every socket address
            self._sock.connect(SOCKET)
        except BaseException:
            self._sock.close()
            raise
        finally:
            os.chdir(here)
            os.close(here)

    def fileno(self) -> int:
        return self._sock.fileno()

    def say(self, kind: bytes, payload: bytes) -> None:
        self._sock.sendall(kind + len(payload).to_bytes(4, "big") + payload)

    def ask(self, **request: Any) -> dict[str, Any]:
        """A request, and its answer; what comes before that is of no use yet."""
        self.say(b"Q", json.dumps(request).encode())
        while True:
            for kind, payload in self._taken(1):
                if kind == b"A":
                    found: dict[str, Any] = json.loads(payload)
                    return found
            self._receive()

    def frames(self) -> list[tuple[bytes, bytes]]:
        """What has come; waits if nothing has. The end of the connection is an OSError once all was taken."""
        found = self._taken()
        while not found:
            self._receive()
            found = self._taken()
        return found

    @property
    def has_more(self) -> bool:
        """Whether something was received that nobody took yet."""
        return len(self._in) >= _HEAD

    def close(self) -> None:
        self._sock.close()

    def _receive(self) -> None:
        data = self._sock.recv(_CHUNK)
        if not data:
            raise ConnectionResetError("the runner hung up")
        self._in += data

    def _taken(self, most: int = 1 << 30) -> list[tuple[bytes, bytes]]:
        found: list[tuple[bytes, bytes]] = []
        while len(self._in) >= _HEAD and len(found) < most:
            size = int.from_bytes(self._in[1:_HEAD], "big")
            if len(self._in) < _HEAD + size:
                break
            found.append((bytes(self._in[:1]), bytes(self._in[_HEAD : _HEAD + size])))
            del self._in[: _HEAD + size]
        return found
