"""Report the result of the start to the process that started this server, over an inherited pipe."""

from __future__ import annotations

import contextlib
import os


class ReadyPipe:
    """The pipe that MAESTRO_READY_FD names. Without the variable, no process waits for a report."""

    def __init__(self) -> None:
        number = os.environ.pop("MAESTRO_READY_FD", "")
        self._descriptor = int(number) if number.isdigit() else -1
        if self._descriptor >= 0:
            with contextlib.suppress(OSError):
                os.set_inheritable(self._descriptor, False)

    def report_result(self, line: str) -> None:
        """Write one line and close the pipe. Further lines are dropped."""
        if self._descriptor < 0:
            return
        with contextlib.suppress(OSError):
            os.write(self._descriptor, f"{line}\n".encode())
            os.close(self._descriptor)
        self._descriptor = -1
