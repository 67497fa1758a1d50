"""The grace period after a sleep of the machine, a jump of the clock, or a time without a server."""

from __future__ import annotations

from datetime import timedelta

import pytest

from maestro.services.presence.grace import GRACE, GracePeriod
from maestro.testing.clock import FakeClock

JUMP = 6.0  # more than drift


def test_no_grace_period_runs_at_first(clock: FakeClock) -> None:
    grace = GracePeriod(clock)
    clock.advance(3600)
    assert grace.remaining_time() == timedelta(0)


def test_a_started_period_runs_down_to_zero(clock: FakeClock) -> None:
    grace = GracePeriod(clock)
    grace.start_period()
    assert grace.remaining_time() == GRACE
    clock.advance(10)
    assert grace.remaining_time() == GRACE - timedelta(seconds=10)
    clock.advance(GRACE.total_seconds())
    assert grace.remaining_time() == timedelta(0)


@pytest.mark.parametrize("seconds", [JUMP, -JUMP], ids=["forward", "back"])
def test_a_jump_of_the_wall_clock_starts_the_period_once(clock: FakeClock, seconds: float) -> None:
    grace = GracePeriod(clock)
    clock.jump(seconds)
    assert grace.detect_clock_jump()
    assert grace.remaining_time() == GRACE
    clock.advance(1)
    assert not grace.detect_clock_jump(), "the new offset is known"
    assert grace.remaining_time() == GRACE - timedelta(seconds=1)


def test_drift_of_the_wall_clock_is_no_jump(clock: FakeClock) -> None:
    grace = GracePeriod(clock)
    clock.jump(5)
    assert not grace.detect_clock_jump() and grace.remaining_time() == timedelta(0)


def test_small_jumps_add_up_to_a_jump(clock: FakeClock) -> None:
    grace = GracePeriod(clock)
    clock.jump(4)
    assert not grace.detect_clock_jump()
    clock.jump(4)
    assert grace.detect_clock_jump()


def test_the_remaining_time_notices_a_jump_itself(clock: FakeClock) -> None:
    grace = GracePeriod(clock)
    clock.jump(8 * 3600)
    assert grace.remaining_time() == GRACE
