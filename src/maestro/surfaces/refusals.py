"""Writes a line to the log when requests are refused for a cause of the server's own: storage, memory, descriptors.

The first refusal of a cause is written at once. Those that follow are counted, and written once a second.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass

from maestro.core import errors, limits

log = logging.getLogger(__name__)
_OURS = (errors.StorageFailed, errors.Exhausted)


@dataclass
class _Cause:
    """Refusals for one cause that are not in the log yet."""

    count: int = 0
    message: str = ""


class Refusals:
    """The refusals of one server, by their error code."""

    def __init__(self) -> None:
        self._recent: dict[str, _Cause] = {}

    def note(self, error: errors.MaestroError) -> None:
        """Log a refusal, unless the caller is its cause."""
        if not isinstance(error, _OURS):
            return
        cause = self._recent.get(error.code)
        if cause is None:
            self._recent[error.code] = _Cause()
            _write(error.code, 1, error.message)
            self._look_again(error.code)
        else:
            cause.count += 1
            cause.message = error.message

    def fault_of(self, problem: Exception) -> errors.MaestroError | None:
        """Return the error that names a lack of the system's resources, and log it; None for all other problems."""
        fault = errors.system_fault(problem)
        if fault is not None:
            self.note(fault)
        return fault

    def flush(self) -> None:
        """Write what was counted: the server stops."""
        for code in list(self._recent):
            self._write_counted(code)

    def _look_again(self, code: str) -> None:
        asyncio.get_running_loop().call_later(limits.refusal_log_seconds, self._write_counted, code)

    def _write_counted(self, code: str) -> None:
        cause = self._recent.pop(code, None)
        if cause is None or not cause.count:
            return
        _write(code, cause.count, cause.message)
        self._recent[code] = _Cause()
        self._look_again(code)


def _write(code: str, count: int, message: str) -> None:
    log.warning("refused %d request%s: %s: %s", count, "" if count == 1 else "s", code, message)


REFUSALS = Refusals()
