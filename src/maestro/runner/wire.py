"""Speaks with an agent that listens on a socket: each WebSocket message is a line."""

from __future__ import annotations

import contextlib
import os
import selectors
import socket
import time
from collections.abc import Callable
from typing import Any

from maestro.runner import websocket

_TRIES_AGAIN_SECONDS = 0.03
_GIVES_UP_SECONDS = 60.0
_CHUNK = 1 << 16


class Wire:
    """One connection, made as soon as the agent listens. What is said before that is kept."""

    def __init__(
        self,
        path: str,
        selector: selectors.BaseSelector,
        *,
        heard: Callable[[bytes], None],
        lost: Callable[[str], None],
    ) -> None:
        self._path = path
        self._selector = selector
        self._heard = heard
        self._lost = lost
        self._sock: socket.socket | None = None
        self._spoken = websocket.Client()
        self._unsaid = bytearray()  # lines, before the handshake is done
        self._out = bytearray()
        self._gives_up_at = time.monotonic() + _GIVES_UP_SECONDS
        self.due: float | None = time.monotonic()  # when it is to be looked at
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)  # of an earlier runner

    def look(self) -> None:
        """Try to connect, if that is due."""
        if self.due is None or time.monotonic() < self.due:
            return
        tried = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            tried.connect(self._path)
        except OSError as error:
            tried.close()
            self.due = time.monotonic() + _TRIES_AGAIN_SECONDS
            if time.monotonic() > self._gives_up_at:
                self._end(f"it does not listen: {error}")
            return
        self.due = None
        tried.setblocking(False)
        self._sock = tried
        self._selector.register(tried, selectors.EVENT_READ, self._ready)
        self._send()

    def say(self, lines: bytes) -> None:
        """Lines, each a message."""
        self._unsaid += lines
        self._send()

    def close(self) -> None:
        """Let go of it."""
        self.due = None
        if self._sock is not None:
            self._selector.unregister(self._sock)
            self._sock.close()
            self._sock = None

    def remove(self) -> None:
        """Take the socket away, with a folder that was made for it alone."""
        for away, what in ((os.unlink, self._path), (os.rmdir, os.path.dirname(self._path))):
            with contextlib.suppress(OSError):
                away(what)

    def _end(self, why: str) -> None:
        self.close()
        self._lost(why)

    def _send(self) -> None:
        if self._spoken.is_open and not self._spoken.is_closed:
            while (end := self._unsaid.find(b"\n")) >= 0:
                self._spoken.say(bytes(self._unsaid[:end]))
                del self._unsaid[: end + 1]
        if self._sock is None:
            return
        self._out += self._spoken.outgoing()
        try:
            while self._out:
                del self._out[: self._sock.send(self._out)]
        except BlockingIOError:
            pass
        except OSError as error:
            self._end(f"it listens no more: {error}")
            return
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if self._out else 0)
        self._selector.modify(self._sock, events, self._ready)

    def _ready(self, handle: Any, events: int) -> None:
        if events & selectors.EVENT_READ:
            self._receive()
        if self._sock is not None:
            self._send()

    def _receive(self) -> None:
        assert self._sock is not None
        try:
            data = self._sock.recv(_CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        try:
            messages = self._spoken.feed(data)
        except websocket.Broken as problem:
            self._end(f"it was not understood: {problem}")
            return
        for message in messages:
            self._heard(message.replace(b"\n", b" ") + b"\n")  # a line break in JSON is between two words
        if not data or self._spoken.is_closed:
            self._end("it has hung up")
