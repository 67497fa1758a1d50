"""A clock that stands still until it is told."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


class FakeClock:
    """Time under a test's control."""

    def __init__(self, at: datetime = datetime(2026, 1, 1, 12, tzinfo=UTC)) -> None:
        self._now = at
        self._monotonic = 1000.0

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return self._monotonic

    def advance(self, seconds: float) -> None:
        """Let this much time pass."""
        self._now += timedelta(seconds=seconds)
        self._monotonic += seconds

    def jump(self, seconds: float) -> None:
        """Set the wall clock, or let the machine sleep: for the monotonic clock no time has passed."""
        self._now += timedelta(seconds=seconds)
