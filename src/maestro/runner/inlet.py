"""What a program is told through a descriptor: as fast as it takes it, without anyone waiting for it."""

from __future__ import annotations

import os
import selectors
from typing import Any


class Inlet:
    """One descriptor, and what has not gone into it yet. It is the inlet's to close."""

    def __init__(self, descriptor: int, selector: selectors.BaseSelector) -> None:
        self._descriptor = descriptor
        self._selector = selector
        self._pending = bytearray()
        self._waits = False  # whether we are told when it takes more
        self._closes = False  # after the last of it
        os.set_blocking(descriptor, False)

    @property
    def left(self) -> int:
        """How many bytes it has not taken yet."""
        return len(self._pending)

    def write(self, data: bytes) -> None:
        self._pending += data
        self._drain()

    def finish(self) -> None:
        """Nothing more comes after what is there."""
        self._closes = True
        self._drain()

    def close(self) -> None:
        """Now, whatever is left."""
        if self._descriptor >= 0:
            self._await(waits=False)
            os.close(self._descriptor)
            self._descriptor = -1
        self._pending.clear()

    def _drain(self, handle: Any = None, events: int = 0) -> None:
        if self._descriptor < 0:
            self._pending.clear()
            return
        try:
            while self._pending:
                del self._pending[: os.write(self._descriptor, self._pending)]
        except BlockingIOError:
            self._await(waits=True)
            return
        except OSError:  # nobody listens any more
            self._pending.clear()
        self._await(waits=False)
        if self._closes:
            self.close()

    def _await(self, *, waits: bool) -> None:
        if waits and not self._waits:
            self._selector.register(self._descriptor, selectors.EVENT_WRITE, self._drain)
        elif not waits and self._waits:
            self._selector.unregister(self._descriptor)
        self._waits = waits
