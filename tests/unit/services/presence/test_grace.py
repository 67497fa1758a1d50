"""A grace period starts after a jump of the wall clock or on request, and runs down to zero."""

from __future__ import annotations

from datetime import timedelta

import pytest

from maestro.services.presence.grace import GRACE, GracePeriod
from maestro.testing.clock import FakeClock

JUMP = 6.0  # seconds; more than the largest difference that counts as drift


def test_a_new_grace_period_has_no_remaining_time(clock: FakeClock) -> None:
    grace = GracePeriod(clock)
    clock.advance(3600)
    assert grace.remaining_time() == timedelta(0)


def test_a_started_grace_period_runs_down_to_zero(clock: FakeClock) -> None:
    grace = GracePeriod(clock)
    grace.start_period()
    assert grace.remaining_time() == GRACE
    clock.advance(10)
    assert grace.remaining_time() == GRACE - timedelta(seconds=10)
    clock.advance(GRACE.total_seconds())
    assert grace.remaining_time() == timedelta(0)


@pytest.mark.parametrize("seconds", [JUMP, -JUMP], ids=["forward", "back"])
def test_a_jump_of_the_wall_clock_starts_the_grace_period_once(clock: FakeClock, seconds: float) -> None:
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


def test_remaining_time_detects_a_jump_of_the_clock(clock: FakeClock) -> None:
    grace = GracePeriod(clock)
    clock.jump(8 * 3600)
    assert grace.remaining_time() == GRACE
