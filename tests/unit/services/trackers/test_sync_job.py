"""Test when the job starts rounds with trackers, and how the job postpones trackers that fail."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from tests.unit.services.conftest import OTHER
from tests.unit.services.trackers.conftest import Tracked

from maestro.core import limits
from maestro.services.trackers.sync_job import TrackerSyncJob
from maestro.trackers.base import TrackerUnreachable

SECONDS = 30


class Rounds:
    """The job with the tracker of one project."""

    def __init__(self, tracked: Tracked) -> None:
        self.tracked = tracked
        self.job = TrackerSyncJob(
            tracked.world.store, lambda choice: tracked.tracker, clock=tracked.world.clock, seconds=SECONDS
        )
        self._done = asyncio.Event()
        self.job.on_done = self._done.set

    async def run(self) -> bool:
        """Run the job once, wait for the end of its round, and return whether the job started a round."""
        self._done.clear()
        await self.job.run_once()
        is_started = self.job.is_busy(OTHER.id)
        if is_started:
            await asyncio.wait_for(self._done.wait(), 10)
        return is_started


@pytest.fixture
def rounds(tracked: Tracked) -> Rounds:
    return Rounds(tracked)


async def test_a_new_tracker_is_read_at_once_and_then_after_the_interval(rounds: Rounds) -> None:
    assert await rounds.run()
    choice, now = await rounds.tracked.choice(), rounds.tracked.world.clock.now()
    assert (choice.version, choice.read_at, choice.succeeded_at) == ("1.0", now, now)
    assert await rounds.job.run_once() == now + timedelta(seconds=SECONDS)
    assert not await rounds.run()
    rounds.tracked.world.clock.advance(SECONDS)
    assert await rounds.run()


async def test_a_change_in_maestro_starts_a_round_without_a_list(rounds: Rounds) -> None:
    await rounds.run()
    await rounds.tracked.open_issue()
    rounds.tracked.tracker.calls.clear()
    assert await rounds.run()
    assert rounds.tracked.tracker.calls == ["create Crash"]


async def test_a_requested_round_reads_the_list(rounds: Rounds) -> None:
    await rounds.run()
    rounds.tracked.tracker.calls.clear()
    rounds.job.request_round(OTHER.id)
    assert await rounds.run()
    assert "list" in rounds.tracked.tracker.calls
    assert not await rounds.run()


async def test_a_tracker_that_fails_is_called_again_after_increasing_pauses(rounds: Rounds) -> None:
    rounds.tracked.tracker.fault = TrackerUnreachable("bd is missing")
    pauses = []
    for _ in range(3):
        assert await rounds.run()
        choice = await rounds.tracked.choice()
        assert choice.due_at is not None and choice.problem == "bd is missing"
        pauses.append((choice.due_at - rounds.tracked.world.clock.now()).total_seconds())
        assert not await rounds.run()
        rounds.tracked.world.clock.advance(pauses[-1])
    least = limits.tracker_retry_seconds_min
    assert pauses == [least, 2 * least, 4 * least] and choice.failures == 3


async def test_a_tracker_that_works_again_has_no_problem(rounds: Rounds) -> None:
    rounds.tracked.tracker.fault = TrackerUnreachable("bd is missing")
    await rounds.run()
    rounds.tracked.tracker.fault = None
    rounds.tracked.world.clock.advance(limits.tracker_retry_seconds_min)
    assert await rounds.run()
    choice = await rounds.tracked.choice()
    assert (choice.problem, choice.failures, choice.due_at) == ("", 0, None)


async def test_a_requested_round_calls_a_postponed_tracker_at_once(rounds: Rounds) -> None:
    rounds.tracked.tracker.fault = TrackerUnreachable("bd is missing")
    await rounds.run()
    rounds.job.request_round(OTHER.id)
    assert await rounds.run()


async def test_an_unexpected_error_postpones_the_tracker_for_the_longest_pause(
    rounds: Rounds, caplog: pytest.LogCaptureFixture
) -> None:
    rounds.tracked.tracker.fault = ValueError("a fault in the code")  # type: ignore[assignment]
    assert await rounds.run()
    assert "a fault in the code" in caplog.text
    rounds.tracked.world.clock.advance(limits.tracker_retry_seconds_max - 1)
    assert not await rounds.run()
    rounds.tracked.world.clock.advance(1)
    assert await rounds.run()


async def test_a_project_has_one_round_at_a_time_and_a_close_of_the_job_cancels_the_round(rounds: Rounds) -> None:
    await rounds.job.run_once()
    rounds.job.request_round(OTHER.id)
    assert await rounds.job.run_once() is None
    await rounds.job.close()
    assert not rounds.job.is_busy(OTHER.id)
    assert rounds.tracked.tracker.calls == []
