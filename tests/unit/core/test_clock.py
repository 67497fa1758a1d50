"""All times have a zone, and a time that is stored as microseconds is read back unchanged."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from maestro.core import clock


@pytest.mark.parametrize(
    "at",
    [
        clock.UNIX_EPOCH,
        datetime(2026, 2, 28, 23, 59, 59, 999_999, tzinfo=UTC),
        datetime(1969, 12, 31, 23, 59, 59, 1, tzinfo=UTC),
        datetime(9999, 12, 31, tzinfo=UTC),
    ],
    ids=str,
)
def test_a_stored_time_is_read_back_to_the_microsecond(at: datetime) -> None:
    assert clock.from_micros(clock.to_micros(at)) == at


def test_a_time_of_another_zone_is_stored_as_utc() -> None:
    at = datetime(2026, 1, 1, 2, 0, 0, 5, tzinfo=timezone(timedelta(hours=2)))
    assert clock.to_micros(at) == clock.to_micros(datetime(2026, 1, 1, 0, 0, 0, 5, tzinfo=UTC))
    assert clock.from_micros(clock.to_micros(at)).utcoffset() == timedelta(0)


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(TypeError):
        clock.to_micros(datetime(2026, 1, 1))  # noqa: DTZ001 (the test checks the refusal of a time without a zone)


def test_a_missing_time_is_stored_as_none_and_the_epoch_as_zero() -> None:
    assert clock.to_micros_or_none(None) is None and clock.from_micros_or_none(None) is None
    assert clock.to_micros_or_none(clock.UNIX_EPOCH) == 0 and clock.from_micros_or_none(0) == clock.UNIX_EPOCH


def test_the_system_clock_returns_utc_times_and_its_monotonic_time_never_decreases() -> None:
    system = clock.SystemClock()
    assert system.now().tzinfo is UTC
    first, second = system.monotonic(), system.monotonic()
    assert second >= first
