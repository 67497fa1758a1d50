"""A program that joins the agent's conversation in the runner's terminal: what a person sees, and types into.

The conversation needs none. If the person ends it, the session is over; one that breaks is started again.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from maestro.runner import agent as agents
from maestro.runner.inlet import Inlet
from maestro.runner.order import Order
from maestro.tools import places

_TRIES_MAX = 3  # in a row
_AGAIN_SECONDS = 1.0
_LIVED_SECONDS = 30.0  # after that, what it dies of is something new
_CHUNK = 1 << 16


class Front:
    """Started once there is something to join."""

    def __init__(
        self,
        order: Order,
        selector: selectors.BaseSelector,
        *,
        show: Callable[[bytes], None],
        on_leave: Callable[[], None],
    ) -> None:
        self._order = order
        self._selector = selector
        self._show = show
        self._on_leave = on_leave  # the person has ended it
        self._program: agents.Agent | None = None
        self._inlet: Inlet | None = None
        self._words: list[str] = []
        self._size = (order.columns, order.rows)
        self._tries = 0
        self._started_at = 0.0
        self.due: float | None = None  # when it is to be looked at

    @property
    def is_there(self) -> bool:
        """Whether the terminal is its own."""
        return self._program is not None

    @property
    def left(self) -> int:
        """How many bytes of what was typed it has not taken yet."""
        return self._inlet.left if self._inlet is not None else 0

    def join(self, conversation: str) -> None:
        if not self._words:
            self._words = places.filled(self._order.front, conversation=conversation)
            self.due = time.monotonic()

    def look(self, ended: Mapping[int, int]) -> None:
        """Notice its end, and start it if that is due."""
        if self._program is not None and self._program.pid in ended:
            self._over(os.waitstatus_to_exitcode(ended[self._program.pid]))
        elif self.due is not None and time.monotonic() >= self.due:
            self.due = None
            self._start()

    def write(self, data: bytes) -> None:
        """What someone types."""
        if self._inlet is not None:
            self._inlet.write(data)

    def resize(self, columns: int, rows: int) -> None:
        self._size = (columns, rows)
        if self._program is not None:
            self._program.resize(columns, rows)

    def would_lose(self, data: bytes) -> bool:
        return self._program is not None and self._program.would_lose(data)

    def close(self) -> None:
        """Nothing of it is shown or started any more; it is ended with all others."""
        self.due = None
        if self._program is None:
            return
        with contextlib.suppress(KeyError):
            self._selector.unregister(self._program.output)
        assert self._inlet is not None
        self._inlet.close()
        self._program.input = -1  # it was the inlet's
        self._program.close()
        self._program = self._inlet = None

    def _start(self) -> None:
        columns, rows = self._size
        order = replace(self._order, words=self._words, terminal=True, columns=columns, rows=rows, conversation=None)
        try:
            self._program = agents.start(order, lambda pid: None)
        except agents.CannotStart as problem:
            self._show(f"! it cannot be shown: {problem}\r\n".encode())
            return
        self._started_at = time.monotonic()
        self._inlet = Inlet(self._program.input, self._selector)
        self._selector.register(self._program.output, selectors.EVENT_READ, self._drawn)

    def _drawn(self, handle: Any = None, events: int = 0) -> None:
        assert self._program is not None
        if data := _read(self._program.output):
            self._show(data)
        elif data is not None:
            self._selector.unregister(self._program.output)  # its end is noticed by itself

    def _over(self, code: int) -> None:
        assert self._program is not None
        while data := _read(self._program.output):
            self._show(data)
        self.close()
        if code == 0:
            self._on_leave()
            return
        self._tries = 1 if time.monotonic() - self._started_at > _LIVED_SECONDS else self._tries + 1
        if self._tries < _TRIES_MAX:
            self.due = time.monotonic() + _AGAIN_SECONDS
        else:
            self._show(f"\r\n! what is shown here ended with {code}; the session goes on without\r\n".encode())


def _read(descriptor: int) -> bytes | None:
    """What is there; nothing at its end; None if there is more to come."""
    try:
        return os.read(descriptor, _CHUNK)
    except BlockingIOError:
        return None
    except OSError:  # a terminal whose last process has gone says EIO
        return b""
