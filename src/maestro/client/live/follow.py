"""A run as the server tells it, again and again; a server that goes away is asked anew when it is back."""

from __future__ import annotations

import _socket
import time

import msgspec

from maestro.client import thin
from maestro.operations.runs import RunView

_PAUSE_SECONDS = 0.5
_HEAD = 5


class Refused(Exception):
    """The server says no."""

    def __init__(self, code: int, said: str) -> None:
        self.code = code
        self.said = said


class Following:
    """One run. `view` is how it stood last."""

    def __init__(self, run_id: str) -> None:
        self.view: RunView | None = None
        self.away_since: float | None = None
        self._words = ["run", "show", run_id, "--follow", "--json"]
        self._sock: _socket.socket | None = None
        self._in = b""
        self._line = b""
        self._err = b""
        self._again_at = 0.0

    def fileno(self) -> int:
        """What to wait for; -1 while there is no server."""
        return self._sock.fileno() if self._sock else -1

    def connect(self) -> None:
        """Ask, if nobody was asked yet and it is time to."""
        if self._sock is not None or time.monotonic() < self._again_at:
            return
        self._in = self._line = self._err = b""
        try:
            self._sock = thin.connect(thin.socket_path())
            self._sock.send(thin.frame(b"R", thin.request(self._words)))
            self._sock.setblocking(False)
        except OSError:
            self._lose()

    def take(self) -> list[RunView]:
        """What has come: none, if that was only a part or the end of the connection. Refused if there is no run."""
        assert self._sock is not None
        try:
            data = self._sock.recv(1 << 16)
        except BlockingIOError:
            return []
        except OSError:
            data = b""
        if not data:
            self._lose()
            return []
        self._in += data
        return self._views()

    def _views(self) -> list[RunView]:
        found = []
        while len(self._in) >= _HEAD:
            size = int.from_bytes(self._in[1:_HEAD], "big")
            if len(self._in) < _HEAD + size:
                break
            kind, payload, self._in = self._in[:1], self._in[_HEAD : _HEAD + size], self._in[_HEAD + size :]
            if kind == b"O":
                *lines, self._line = (self._line + payload).split(b"\n")
                found += [msgspec.json.decode(each, type=RunView) for each in lines]
            elif kind == b"E":
                self._err += payload
            elif kind == b"X" and int(payload) and not found and self.view is None:
                raise Refused(int(payload), self._err.decode(errors="replace").strip())
        if found:
            self.view, self.away_since = found[-1], None
        return found

    def _lose(self) -> None:
        if self._sock is not None:
            self._sock.close()
        self._sock = None
        self._again_at = time.monotonic() + _PAUSE_SECONDS
        self.away_since = self.away_since or time.monotonic()

    @property
    def pause_seconds(self) -> float:
        """How long until it is worth asking again."""
        return max(self._again_at - time.monotonic(), 0.0)

    def close(self) -> None:
        if self._sock is not None:
            self._sock.close()
