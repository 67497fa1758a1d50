"""The connection to a program that listens on a socket: each WebSocket message is a line."""

from __future__ import annotations

import contextlib
import os
import selectors
import socket
import time
from collections.abc import Callable
from typing import Any

from maestro.runner import websocket
from maestro.runner.reading import READ_BYTES_MAX

_RETRY_SECONDS = 0.03
_CONNECT_SECONDS_MAX = 60.0


class WebSocketLink:
    """One connection, made as soon as the program listens. Lines wait until the handshake is done."""

    def __init__(
        self,
        path: str,
        selector: selectors.BaseSelector,
        *,
        on_line: Callable[[bytes], None],
        on_loss: Callable[[str], None],
    ) -> None:
        self._path = path
        self._selector = selector
        self._on_line = on_line
        self._on_loss = on_loss
        self._sock: socket.socket | None = None
        self._websocket = websocket.WebSocketClient()
        self._pending_lines = bytearray()  # lines that wait for the handshake
        self._out = bytearray()
        self._gives_up_at = time.monotonic() + _CONNECT_SECONDS_MAX
        self.due: float | None = time.monotonic()  # the time of the next call of `connect_if_due`
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)  # the socket of an earlier runner

    def connect_if_due(self) -> None:
        """Try to connect, if that is due."""
        if self.due is None or time.monotonic() < self.due:
            return
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            sock.connect(self._path)
        except OSError as error:
            sock.close()
            self.due = time.monotonic() + _RETRY_SECONDS
            if time.monotonic() > self._gives_up_at:
                self._close_after_loss(f"the program does not listen on its socket: {error}")
            return
        self.due = None
        sock.setblocking(False)
        self._sock = sock
        self._selector.register(sock, selectors.EVENT_READ, self._handle_events)
        self._send_pending()

    def send_lines(self, lines: bytes) -> None:
        """Send lines, each as one message."""
        self._pending_lines += lines
        self._send_pending()

    def close(self) -> None:
        """Close the connection."""
        self.due = None
        if self._sock is not None:
            self._selector.unregister(self._sock)
            self._sock.close()
            self._sock = None

    def remove_socket(self) -> None:
        """Remove the socket, and its folder if the folder was made only for the socket."""
        for remove, path in ((os.unlink, self._path), (os.rmdir, os.path.dirname(self._path))):
            with contextlib.suppress(OSError):
                remove(path)

    def _close_after_loss(self, why: str) -> None:
        self.close()
        self._on_loss(why)

    def _send_pending(self) -> None:
        if self._websocket.is_open and not self._websocket.is_closed:
            while (end := self._pending_lines.find(b"\n")) >= 0:
                self._websocket.add_message(bytes(self._pending_lines[:end]))
                del self._pending_lines[: end + 1]
        if self._sock is None:
            return
        self._out += self._websocket.take_outgoing()
        try:
            while self._out:
                del self._out[: self._sock.send(self._out)]
        except BlockingIOError:
            pass
        except OSError as error:
            self._close_after_loss(f"the connection to the program is broken: {error}")
            return
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if self._out else 0)
        self._selector.modify(self._sock, events, self._handle_events)

    def _handle_events(self, handle: Any, events: int) -> None:
        if events & selectors.EVENT_READ:
            self._receive()
        if self._sock is not None:
            self._send_pending()

    def _receive(self) -> None:
        assert self._sock is not None
        try:
            data = self._sock.recv(READ_BYTES_MAX)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        try:
            messages = self._websocket.feed_bytes(data)
        except websocket.WebSocketBroken as problem:
            self._close_after_loss(f"the program sent an invalid WebSocket frame: {problem}")
            return
        for message in messages:
            self._on_line(message.replace(b"\n", b" ") + b"\n")  # a line break in JSON stands only between tokens
        if not data or self._websocket.is_closed:
            self._close_after_loss("the program has closed the connection")
