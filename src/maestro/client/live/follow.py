"""Follow a run: read its state from the server after each change, and reconnect when the server comes back."""

from __future__ import annotations

import _socket
import time

import msgspec

from maestro.client import main
from maestro.operations.runs import RunView
from maestro.wire import frames

_PAUSE_SECONDS = 0.5


class RunRefused(Exception):
    """The server refuses to show the run."""

    def __init__(self, code: int, message: str) -> None:
        self.code = code
        self.message = message


class RunFollower:
    """A connection that follows one run. `view` is the last known state of the run."""

    def __init__(self, run_id: str) -> None:
        self.view: RunView | None = None
        self.away_since: float | None = None
        self._arguments = ["run", "show", run_id, "--follow", "--json"]
        self._sock: _socket.socket | None = None
        self._received = frames.FrameBuffer()
        self._line = b""
        self._err = b""
        self._again_at = 0.0

    def fileno(self) -> int:
        """Return the descriptor to wait for; -1 while no server answers."""
        return self._sock.fileno() if self._sock else -1

    def connect_if_due(self) -> None:
        """Connect and send the request, unless a connection exists or the pause is not over."""
        if self._sock is not None or time.monotonic() < self._again_at:
            return
        self._received = frames.FrameBuffer()
        self._line = self._err = b""
        try:
            self._sock = main.connect_to_server(main.socket_path())
            self._sock.send(frames.pack_frame(frames.REQUEST, main.request_payload(self._arguments)))
            self._sock.setblocking(False)
        except OSError:
            self._close_after_loss()

    def receive_views(self) -> list[RunView]:
        """Read and return new states of the run; empty after a partial frame or the end of the connection.

        Raise RunRefused if the server does not know the run.
        """
        assert self._sock is not None
        try:
            data = self._sock.recv(1 << 16)
        except BlockingIOError:
            return []
        except OSError:
            data = b""
        if not data:
            self._close_after_loss()
            return []
        self._received.add_bytes(data)
        return self._take_views()

    def _take_views(self) -> list[RunView]:
        views = []
        while (frame := self._received.take_frame()) is not None:
            kind, payload = frame
            if kind == frames.OUT:
                *lines, self._line = (self._line + payload).split(b"\n")
                views += [msgspec.json.decode(each, type=RunView) for each in lines]
            elif kind == frames.ERR:
                self._err += payload
            elif kind == frames.EXIT and int(payload) and not views and self.view is None:
                raise RunRefused(int(payload), self._err.decode(errors="replace").strip())
        if views:
            self.view, self.away_since = views[-1], None
        return views

    def _close_after_loss(self) -> None:
        if self._sock is not None:
            self._sock.close()
        self._sock = None
        self._again_at = time.monotonic() + _PAUSE_SECONDS
        self.away_since = self.away_since or time.monotonic()

    @property
    def pause_seconds(self) -> float:
        """Return the time until the next attempt to connect."""
        return max(self._again_at - time.monotonic(), 0.0)

    def close(self) -> None:
        if self._sock is not None:
            self._sock.close()
