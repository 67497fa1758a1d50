"""The pauses between attempts grow until the job gives up, and notifications about one session keep a distance."""

from __future__ import annotations

from datetime import timedelta

from maestro.domain.notifications import earliest_time, next_attempt_at
from maestro.testing.clock import FakeClock

AT = FakeClock().now()


def test_each_failure_makes_the_next_pause_longer_until_the_job_gives_up() -> None:
    times = [next_attempt_at(attempts, AT, (5, 30, 120)) for attempts in (1, 2, 3, 4)]
    assert times == [AT + timedelta(seconds=5), AT + timedelta(seconds=30), AT + timedelta(seconds=120), None]


def test_a_notification_waits_for_its_hold_and_for_the_distance_to_the_last_one() -> None:
    hold, gap = timedelta(seconds=5), timedelta(seconds=60)
    assert earliest_time(AT, None, hold=hold, gap=gap) == AT + hold
    assert earliest_time(AT, AT - timedelta(seconds=30), hold=hold, gap=gap) == AT + timedelta(seconds=30)
    assert earliest_time(AT, AT - timedelta(hours=1), hold=hold, gap=gap) == AT + hold
