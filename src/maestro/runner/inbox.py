"""Puts messages to an agent in a terminal, beside its keyboard: into a socket that its program listens to, or a pipe
that a command of its model waits at.

How a message is spelt, the tool's own module knows; whether it has come in, the tool's hooks tell.
"""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import select
import socket
from collections.abc import Callable
from typing import Any, Protocol

from maestro.runner.order import Order

_SECONDS_MAX = 5.0  # a program that is there takes it at once
_NOBODY = "its model has started nothing that waits for Maestro"


class Door(Protocol):
    """Where a message goes in."""

    def put(self, text: str) -> None:
        """OSError if nobody takes it."""

    def listens(self) -> bool:
        """Whether somebody is there, as far as can be known without a word."""

    def close(self) -> None:
        """Takes it away."""


class Inbox:
    """The door beside the terminal."""

    def __init__(self, order: Order) -> None:
        self.has_waiter = order.inbox.get("kind") == "pipe"  # a command that the agent started
        self._door: Door = Pipe(order.inbox["path"]) if self.has_waiter else Socket(order)
        self._put: dict[str, None] = {}

    def request(self, do: str, asked: dict[str, Any]) -> dict[str, Any] | None:
        """What the server wants said; None for what this is not about."""
        if do != "prompt":
            return None
        name, text = str(asked.get("id")), str(asked.get("text"))
        if name in self._put:
            return {"state": "said"}  # the answer to it was lost
        try:
            self._door.put(text)
        except OSError as problem:
            return {"state": "closed", "why": f"its inbox takes nothing: {problem.strerror or problem}"}
        self._put[name] = None
        return {"state": "said"}

    def state(self) -> dict[str, Any]:
        return {"listens": self._door.listens()}

    def close(self) -> None:
        self._door.close()


class Socket:
    """One that its program listens to. A connection per message."""

    def __init__(self, order: Order) -> None:
        self._spell: Callable[[str], bytes] = importlib.import_module(order.inbox["spelt_by"]).message
        self._path = order.inbox["path"]

    def put(self, text: str) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as door:
            door.settimeout(_SECONDS_MAX)
            door.connect(self._path)
            door.sendall(self._spell(text))
            door.shutdown(socket.SHUT_WR)
            while door.recv(4096):  # it hangs up once it has all
                pass

    def listens(self) -> bool:
        return os.path.exists(self._path)

    def close(self) -> None:
        """With a folder that was made for it alone."""
        for away, what in ((os.unlink, self._path), (os.rmdir, os.path.dirname(self._path))):
            with contextlib.suppress(OSError):
                away(what)


class Pipe:
    """A named one. Whoever reads from it gets one message, and then its end.

    Once opened for a reader our end stays open until there is something to say: to close it would end the reader.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._end = -1
        with contextlib.suppress(FileNotFoundError):  # of an earlier start
            os.unlink(path)
        os.mkfifo(path, 0o600)

    def put(self, text: str) -> None:
        if not self.listens():
            raise OSError(errno.ENXIO, _NOBODY)
        data = text.encode("utf-8", "replace") + b"\n"
        try:
            while data:
                data = data[os.write(self._end, data) :]
        finally:
            self._let_go()

    def listens(self) -> bool:
        if self._end >= 0 and self._is_left():
            self._let_go()
        if self._end < 0:
            with contextlib.suppress(OSError):  # there is nobody
                self._end = os.open(self._path, os.O_WRONLY | os.O_NONBLOCK)
        return self._end >= 0

    def close(self) -> None:
        self._let_go()
        with contextlib.suppress(OSError):
            os.unlink(self._path)

    def _is_left(self) -> bool:
        """Whether the last reader has gone."""
        poll = select.poll()
        poll.register(self._end, 0)
        return any(events & (select.POLLERR | select.POLLNVAL) for _, events in poll.poll(0))

    def _let_go(self) -> None:
        if self._end >= 0:
            os.close(self._end)
            self._end = -1
