"""A clock that only a test moves forward."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


class FakeClock:
    """A clock under a test's control."""

    def __init__(self, at: datetime = datetime(2026, 1, 1, 12, tzinfo=UTC)) -> None:
        self._now = at
        self._monotonic = 1000.0

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return self._monotonic

    def advance(self, seconds: float) -> None:
        """Let `seconds` pass on both clocks."""
        self._now += timedelta(seconds=seconds)
        self._monotonic += seconds

    def jump(self, seconds: float) -> None:
        """Move only the wall clock, as after a clock change or a sleep of the machine."""
        self._now += timedelta(seconds=seconds)
