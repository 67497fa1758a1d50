"""Log requests that the server refuses for a cause of its own: storage, memory, descriptors.

The first refusal of a cause is logged at once. Further refusals are counted, and logged once a second.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass

from maestro.core import errors, limits

log = logging.getLogger(__name__)
_SERVER_CAUSES = (errors.StorageFailed, errors.Exhausted)


@dataclass
class _UnloggedRefusals:
    """The refusals for one cause since the last log line."""

    count: int = 0
    message: str = ""


class RefusalLog:
    """The refusals of one server, by their error code."""

    def __init__(self) -> None:
        self._unlogged: dict[str, _UnloggedRefusals] = {}

    def log_refusal(self, error: errors.MaestroError) -> None:
        """Log a refusal. Refusals that the caller caused are not logged."""
        if not isinstance(error, _SERVER_CAUSES):
            return
        cause = self._unlogged.get(error.code)
        if cause is None:
            self._unlogged[error.code] = _UnloggedRefusals()
            _log_refusals(error.code, 1, error.message)
            self._schedule_log(error.code)
        else:
            cause.count += 1
            cause.message = error.message

    def find_system_fault(self, problem: Exception) -> errors.MaestroError | None:
        """Return the error for a lack of system resources, and log the error; return None for all other problems."""
        fault = errors.system_fault(problem)
        if fault is not None:
            self.log_refusal(fault)
        return fault

    def flush(self) -> None:
        """Log the counted refusals, because the server stops."""
        for code in list(self._unlogged):
            self._log_counted(code)

    def _schedule_log(self, code: str) -> None:
        asyncio.get_running_loop().call_later(limits.refusal_log_seconds, self._log_counted, code)

    def _log_counted(self, code: str) -> None:
        cause = self._unlogged.pop(code, None)
        if cause is None or not cause.count:
            return
        _log_refusals(code, cause.count, cause.message)
        self._unlogged[code] = _UnloggedRefusals()
        self._schedule_log(code)


def _log_refusals(code: str, count: int, message: str) -> None:
    log.warning("refused %d request%s: %s: %s", count, "" if count == 1 else "s", code, message)


REFUSAL_LOG = RefusalLog()
