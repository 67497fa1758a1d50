"""The log filter drops repeated warnings and counts them."""

from __future__ import annotations

import logging

import pytest

from maestro.core import limits
from maestro.server import sparse_log
from maestro.server.sparse_log import SparseLog


def record(text: str, level: int = logging.WARNING) -> logging.LogRecord:
    return logging.LogRecord("uvicorn.error", level, "", 0, text, None, None)


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return a list whose only item is the time that the filter reads."""
    time = [100.0]
    monkeypatch.setattr(sparse_log.time, "monotonic", lambda: time[0])
    return time


def test_a_repeated_warning_passes_once_a_minute_with_a_count(now: list[float]) -> None:
    log = SparseLog()
    assert [log.filter(record("Invalid HTTP request")) for _ in range(4)] == [True, False, False, False]
    now[0] += limits.http_log_line_seconds
    later = record("Invalid HTTP request")
    assert log.filter(later) and later.msg == "Invalid HTTP request (3 more since the last line)"


def test_a_warning_with_another_text_passes_at_once(now: list[float]) -> None:
    log = SparseLog()
    assert log.filter(record("one")) and log.filter(record("two"))


@pytest.mark.parametrize("level", [logging.INFO, logging.ERROR])
def test_log_records_of_other_levels_always_pass(now: list[float], level: int) -> None:
    log = SparseLog()
    assert all(log.filter(record("text", level)) for _ in range(3))
