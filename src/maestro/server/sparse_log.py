"""Keeps faults of clients from filling the log: one line a minute for each kind."""

from __future__ import annotations

import logging
import time

from maestro.core import limits


class SparseLog(logging.Filter):
    """Pass the first warning of each text in a while; the next one that passes says how many were left out."""

    def __init__(self) -> None:
        super().__init__()
        self._passed: dict[str, float] = {}
        self._left_out: dict[str, int] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno != logging.WARNING:
            return True
        text, now = record.msg, time.monotonic()
        if now - self._passed.get(text, float("-inf")) < limits.http_log_line_seconds:
            self._left_out[text] = self._left_out.get(text, 0) + 1
            return False
        self._passed[text] = now
        left_out = self._left_out.pop(text, 0)
        if left_out:
            record.msg = f"{text} ({left_out} more since the last such line)"
        return True
