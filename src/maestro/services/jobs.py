"""Run background jobs: each round of a job does a bounded batch and returns when the job is next due."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

from maestro.core.clock import Clock
from maestro.core.errors import MaestroError

log = logging.getLogger(__name__)
_SECONDS_AFTER_FAILURE = 10.0
_SECONDS_MAX = 3600.0


class BackgroundJob(Protocol):
    """A background job."""

    name: str

    async def run_once(self) -> datetime | None:
        """Do a bounded batch of work. Return when the job is next due, or None while no due time is known."""


class BackgroundJobs:
    """Runs each job when the job is due, and when `nudge` reports a change.

    A job with a pace waits at least its pace, in seconds, between two rounds, however often it is nudged.
    """

    def __init__(self, *, clock: Clock) -> None:
        self._loop = asyncio.get_running_loop()
        self._clock = clock
        self._paces: Mapping[str, float] = {}
        self._nudges: dict[str, asyncio.Event] = {}
        self._tasks: list[asyncio.Task[None]] = []

    def start_jobs(self, jobs: Sequence[BackgroundJob], *, paces: Mapping[str, float] | None = None) -> None:
        """Start all jobs. Only a started job can be nudged."""
        self._paces = paces or {}
        self._nudges = {job.name: asyncio.Event() for job in jobs}
        self._tasks = [asyncio.create_task(self._repeat(job), name=f"job-{job.name}") for job in jobs]

    def nudge_job(self, name: str) -> None:
        """Run the named job soon: a change may have made the job due. Only for the event loop's thread."""
        self._nudges[name].set()

    def nudge_job_from_thread(self, name: str) -> None:
        """Run the named job soon; callable from the writer's thread."""
        self._loop.call_soon_threadsafe(self.nudge_job, name)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _repeat(self, job: BackgroundJob) -> None:
        nudge, pace = self._nudges[job.name], self._paces.get(job.name, 0.0)
        loop = asyncio.get_running_loop()
        while True:
            nudge.clear()
            began = loop.time()
            try:
                due = await job.run_once()
                seconds = (due - self._clock.now()).total_seconds() if due else _SECONDS_MAX
            except Exception as error:
                # The last handler of background work: a failed round must not end the job.
                log.warning(
                    "background job %s failed: %s", job.name, error, exc_info=not isinstance(error, MaestroError)
                )
                seconds = _SECONDS_AFTER_FAILURE
            if seconds > 0:
                await _wait_for_nudge(nudge, min(seconds, _SECONDS_MAX))
            if loop.time() < began + pace:
                await asyncio.sleep(began + pace - loop.time())


async def _wait_for_nudge(nudge: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await nudge.wait()
    except TimeoutError:
        pass
