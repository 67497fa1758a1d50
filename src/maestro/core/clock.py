"""The clock, as an injected object. The server takes the time only from a clock; the client asks the system."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Protocol

UNIX_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class Clock(Protocol):
    """A clock with wall time for records and monotonic time for durations."""

    def now(self) -> datetime: ...

    def monotonic(self) -> float: ...


class SystemClock:
    """The machine's own clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()


def to_micros(at: datetime) -> int:
    """Return a time as the store keeps it: whole microseconds since 1970, UTC."""
    return (at - UNIX_EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    return UNIX_EPOCH + timedelta(microseconds=micros)


def to_micros_or_none(at: datetime | None) -> int | None:
    return to_micros(at) if at is not None else None


def from_micros_or_none(micros: int | None) -> datetime | None:
    return from_micros(micros) if micros is not None else None
