"""The runner's control socket, for the server and attached terminals, in the frames of docs/frames.md.

Q  a request, as JSON        A  its answer, as JSON
D  input for the program     O  output of the program for attached peers; empty for peers that only watch
Z  the size of the terminal  X  the program has ended, with this code
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import socket
import time
from collections.abc import Callable
from typing import Any

from maestro.runner.reading import READ_BYTES_MAX
from maestro.wire import frames, runner_folder, runner_requests

_BEHIND_BYTES_MAX = 4 << 20  # a peer that is further behind is disconnected
_FLUSH_SECONDS = 1.0
_SIDE_MAX = 10_000  # the columns or rows of a terminal, in characters

Handle = Callable[["ControlPeer", bytes, bytes], None]


class ControlPeer:
    """One connection to the control socket."""

    def __init__(
        self, sock: socket.socket, selector: selectors.BaseSelector, on_close: Callable[[ControlPeer], None]
    ) -> None:
        self.is_attached = False
        self.watches = False  # gets a notice of new output, and reads the output from the transcript
        self.is_read_only = False
        self.size: tuple[int, int] | None = None  # columns and rows of the peer's terminal
        self._sock = sock
        self._selector = selector
        self._on_close = on_close
        self._received = frames.FrameBuffer()
        self._out = bytearray()

    def send_frame(self, kind: bytes, payload: bytes = b"") -> None:
        """Send one frame, as fast as the peer reads. Disconnect a peer that is too far behind."""
        self._out += frames.pack_frame(kind, payload)
        if len(self._out) > _BEHIND_BYTES_MAX:
            self.close()
        else:
            self.flush_frames()

    def send_notice(self) -> None:
        """Send a notice of new output, unless an earlier notice is still unsent."""
        if not self._out:
            self.send_frame(frames.OUT)

    def flush_until(self, *, until: float) -> None:
        """Send the unsent frames, if the peer reads them soon."""
        self._sock.settimeout(max(until - time.monotonic(), 0.001))
        with contextlib.suppress(OSError):
            self._sock.sendall(self._out)

    def send_answer(self, facts: dict[str, Any] | None = None) -> None:
        """Answer that a request is carried out, with facts."""
        self._answer_request({runner_requests.OK: True, **(facts or {})})

    def send_refusal(self, problem: str) -> None:
        self._answer_request({runner_requests.OK: False, runner_requests.PROBLEM: problem})

    def _answer_request(self, answer: dict[str, Any]) -> None:
        self.send_frame(frames.ANSWER, json.dumps(answer).encode())

    def flush_frames(self) -> None:
        try:
            while self._out:
                del self._out[: self._sock.send(self._out)]
        except BlockingIOError:
            pass
        except OSError:
            self.close()
            return
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if self._out else 0)
        self._selector.modify(self._sock, events, self.handle_events)

    def handle_events(self, handle: Handle, events: int) -> None:
        """Send and receive, after the selector reports the socket as ready."""
        if events & selectors.EVENT_WRITE:
            self.flush_frames()
        if not events & selectors.EVENT_READ or self._sock.fileno() < 0:
            return
        try:
            data = self._sock.recv(READ_BYTES_MAX)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.close()
            return
        self._received.add_bytes(data)
        self._take_frames(handle)

    def _take_frames(self, handle: Handle) -> None:
        try:
            while (frame := self._received.take_frame()) is not None:
                handle(self, *frame)
        except frames.FrameTooLarge:
            self.close()

    def close(self) -> None:
        if self._sock.fileno() >= 0:
            self._selector.unregister(self._sock)
            self._sock.close()
            self._on_close(self)


class ControlSocket:
    """The listening control socket, and its peers."""

    def __init__(self, folder: str, selector: selectors.BaseSelector) -> None:
        self._selector = selector
        self.peers: set[ControlPeer] = set()
        self.on_peer_gone: Callable[[], None] = lambda: None  # called when a peer has gone
        os.chdir(folder)  # a bare name fits into every socket address
        if os.path.exists(runner_folder.CONTROL_SOCKET):
            os.unlink(runner_folder.CONTROL_SOCKET)
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        before = os.umask(0o177)
        try:
            self._listener.bind(runner_folder.CONTROL_SOCKET)
        finally:
            os.umask(before)
        self._listener.listen(64)
        self._listener.setblocking(False)
        selector.register(self._listener, selectors.EVENT_READ, self._accept_peer)

    def send_output(self, data: bytes) -> None:
        """Send output to all attached terminals, and a notice to all watching peers."""
        for peer in [peer for peer in self.peers if peer.is_attached or peer.watches]:
            if peer.is_attached:
                peer.send_frame(frames.OUT, data)
            else:
                peer.send_notice()

    def close(self, code: int) -> None:
        ends = time.monotonic() + _FLUSH_SECONDS
        for peer in list(self.peers):
            peer.send_frame(frames.EXIT, b"%d" % code)
        for peer in list(self.peers):
            peer.flush_until(until=ends)
            peer.close()
        self._selector.unregister(self._listener)
        self._listener.close()
        with contextlib.suppress(OSError):
            os.unlink(runner_folder.CONTROL_SOCKET)

    def _accept_peer(self, handle: Handle, events: int) -> None:
        try:
            sock, _ = self._listener.accept()
        except OSError:
            return
        sock.setblocking(False)
        peer = ControlPeer(sock, self._selector, self._remove_peer)
        self.peers.add(peer)
        self._selector.register(sock, selectors.EVENT_READ, peer.handle_events)

    def _remove_peer(self, peer: ControlPeer) -> None:
        self.peers.discard(peer)
        self.on_peer_gone()


def parse_size(payload: bytes) -> tuple[int, int] | None:
    """Return the columns and rows in a frame `Z`; None if the payload is invalid."""
    columns, _, rows = payload.partition(b" ")
    if not (columns.isdigit() and rows.isdigit() and len(payload) < 16):
        return None
    size = (int(columns), int(rows))
    return size if all(0 < side <= _SIDE_MAX for side in size) else None
