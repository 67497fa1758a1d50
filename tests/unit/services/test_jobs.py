"""Background jobs run when they are due, when they are nudged, and never faster than their pace."""

from __future__ import annotations

import asyncio
import threading
from datetime import datetime, timedelta

import pytest

from maestro.services.jobs import BackgroundJobs
from maestro.testing.clock import FakeClock

_SECONDS_MAX = 10.0


class Rounds:
    """A job that counts its rounds and runs again only after a nudge."""

    name = "rounds"

    def __init__(self) -> None:
        self.done = 0
        self.times: list[float] = []  # the beginning of each round
        self.first, self.again = asyncio.Event(), asyncio.Event()

    async def run_once(self) -> datetime | None:
        self.done += 1
        self.times.append(asyncio.get_running_loop().time())
        self.first.set()
        if self.done > 1:
            self.again.set()
        return None


async def test_a_nudge_from_another_thread_runs_the_job(clock: FakeClock) -> None:
    job = Rounds()
    jobs = BackgroundJobs(clock=clock)
    jobs.start_jobs([job])
    await job.first.wait()
    assert job.done == 1
    threading.Timer(0.05, jobs.nudge_job_from_thread, [job.name]).start()
    async with asyncio.timeout(_SECONDS_MAX):
        await job.again.wait()
    await jobs.close()


class DueRounds(Rounds):
    """A job that is due again after its first round; if `error` is given, the first round raises it."""

    def __init__(self, clock: FakeClock, *, error: Exception | None = None) -> None:
        super().__init__()
        self._clock = clock
        self._error = error

    async def run_once(self) -> datetime | None:
        await super().run_once()
        if self.done == 1 and self._error is not None:
            raise self._error
        return self._clock.now() - timedelta(seconds=1) if self.done == 1 else None


async def test_a_job_that_is_due_runs_again_at_once(clock: FakeClock) -> None:
    job = DueRounds(clock)
    jobs = BackgroundJobs(clock=clock)
    jobs.start_jobs([job])
    async with asyncio.timeout(_SECONDS_MAX):
        await job.again.wait()
    await jobs.close()


async def test_a_failed_round_is_logged_and_does_not_end_the_job(
    clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    job = DueRounds(clock, error=ValueError("no room"))
    jobs = BackgroundJobs(clock=clock)
    jobs.start_jobs([job])
    async with asyncio.timeout(_SECONDS_MAX):
        await job.first.wait()
        jobs.nudge_job(job.name)
        await job.again.wait()
    await jobs.close()
    assert "background job rounds failed: no room" in caplog.text


async def test_a_job_with_a_pace_waits_between_two_rounds(clock: FakeClock) -> None:
    job = Rounds()
    jobs = BackgroundJobs(clock=clock)
    jobs.start_jobs([job], paces={job.name: 0.05})
    await job.first.wait()
    jobs.nudge_job(job.name)
    async with asyncio.timeout(_SECONDS_MAX):
        await job.again.wait()
    # The job itself records the times: under load, a test continues later than its job. A timer may fire a bit early.
    assert job.times[1] - job.times[0] > 0.045
    await jobs.close()
