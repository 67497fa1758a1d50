"""Tells whoever started this server how it went, over the pipe they left open."""

from __future__ import annotations

import contextlib
import os


class Ready:
    """The pipe named in MAESTRO_READY_FD; without one, nobody waits to hear."""

    def __init__(self) -> None:
        given = os.environ.pop("MAESTRO_READY_FD", "")
        self._descriptor = int(given) if given.isdigit() else -1
        if self._descriptor >= 0:
            with contextlib.suppress(OSError):
                os.set_inheritable(self._descriptor, False)

    def say(self, line: str) -> None:
        """One line, once; then the pipe is closed."""
        if self._descriptor < 0:
            return
        with contextlib.suppress(OSError):
            os.write(self._descriptor, f"{line}\n".encode())
            os.close(self._descriptor)
        self._descriptor = -1
