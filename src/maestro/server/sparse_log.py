"""Keep warnings about clients from filling the log: one line a minute for each text."""

from __future__ import annotations

import logging
import time

from maestro.core import limits


class SparseLog(logging.Filter):
    """A log filter that passes each warning text once a minute. The next line says how many warnings were dropped."""

    def __init__(self) -> None:
        super().__init__()
        self._passed_at: dict[str, float] = {}
        self._dropped: dict[str, int] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno != logging.WARNING:
            return True
        text, now = record.msg, time.monotonic()
        if now - self._passed_at.get(text, float("-inf")) < limits.http_log_line_seconds:
            self._dropped[text] = self._dropped.get(text, 0) + 1
            return False
        self._passed_at[text] = now
        dropped = self._dropped.pop(text, 0)
        if dropped:
            record.msg = f"{text} ({dropped} more since the last line)"
        return True
