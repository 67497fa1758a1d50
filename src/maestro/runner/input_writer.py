"""Write input to a program through a descriptor, as fast as the program reads, without blocking the runner."""

from __future__ import annotations

import os
import selectors
from typing import Any


class InputWriter:
    """A descriptor and the bytes that are not written yet. The writer owns and closes the descriptor."""

    def __init__(self, descriptor: int, selector: selectors.BaseSelector) -> None:
        self._descriptor = descriptor
        self._selector = selector
        self._pending = bytearray()
        self._is_watched = False  # whether the selector reports when the program reads more
        self._closes_at_end = False  # whether the descriptor is closed after the last byte
        os.set_blocking(descriptor, False)

    @property
    def pending_bytes(self) -> int:
        """Return the number of input bytes that are not written to the program yet."""
        return len(self._pending)

    def write_input(self, data: bytes) -> None:
        self._pending += data
        self._write_pending()

    def close_after_pending(self) -> None:
        """Close the descriptor after the pending bytes."""
        self._closes_at_end = True
        self._write_pending()

    def close(self) -> None:
        """Close the descriptor now, and drop the pending bytes."""
        if self._descriptor >= 0:
            self._watch_descriptor(waits=False)
            os.close(self._descriptor)
            self._descriptor = -1
        self._pending.clear()

    def _write_pending(self, handle: Any = None, events: int = 0) -> None:
        if self._descriptor < 0:
            self._pending.clear()
            return
        try:
            while self._pending:
                del self._pending[: os.write(self._descriptor, self._pending)]
        except BlockingIOError:
            self._watch_descriptor(waits=True)
            return
        except OSError:  # the program reads no more
            self._pending.clear()
        self._watch_descriptor(waits=False)
        if self._closes_at_end:
            self.close()

    def _watch_descriptor(self, *, waits: bool) -> None:
        if waits and not self._is_watched:
            self._selector.register(self._descriptor, selectors.EVENT_WRITE, self._write_pending)
        elif not waits and self._is_watched:
            self._selector.unregister(self._descriptor)
        self._is_watched = waits
