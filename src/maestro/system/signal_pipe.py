"""A pipe that ends a wait in `select` when a signal arrives. Runners import this module: standard library only."""

from __future__ import annotations

import os
import signal

_CHUNK = 1 << 12


class SignalPipe:
    """The pipe to which Python writes at each signal with a handler. A process has one such pipe at a time."""

    def __init__(self) -> None:
        self._reader, self._writer = os.pipe()
        for end in (self._reader, self._writer):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)

    def fileno(self) -> int:
        """Return the descriptor that is readable after a signal."""
        return self._reader

    def clear(self) -> None:
        """Make the pipe unreadable until the next signal."""
        try:
            while len(os.read(self._reader, _CHUNK)) == _CHUNK:
                pass
        except BlockingIOError:
            pass

    def close(self) -> None:
        """Close the pipe: a forked process must not use the pipe of its parent."""
        signal.set_wakeup_fd(-1)
        for end in (self._reader, self._writer):
            os.close(end)
