"""The one shape of background work: a job says when it next has something to do, and does a bounded batch."""

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


class Job(Protocol):
    """One kind of upkeep."""

    name: str

    async def run_once(self) -> datetime | None:
        """Do a bounded batch; when there will be something to do again, as far as is known."""


class Upkeep:
    """Runs each job when it is due, and when it is told that something changed.

    At once, unless it has a pace: then so many seconds lie between two rounds at least, however much happens.
    """

    def __init__(self, jobs: Sequence[Job], *, clock: Clock, paces: Mapping[str, float] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        self._clock = clock
        self._paces = paces or {}
        self._nudges = {job.name: asyncio.Event() for job in jobs}
        self._tasks = [asyncio.create_task(self._keep(job), name=f"upkeep-{job.name}") for job in jobs]

    def nudge(self, name: str) -> None:
        """Something changed that may make this job due sooner."""
        self._nudges[name].set()

    def nudge_from_anywhere(self, name: str) -> None:
        """The same, out of the writer's thread."""
        self._loop.call_soon_threadsafe(self.nudge, name)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _keep(self, job: Job) -> None:
        nudge, pace = self._nudges[job.name], self._paces.get(job.name, 0.0)
        loop = asyncio.get_running_loop()
        while True:
            nudge.clear()
            began = loop.time()
            try:
                due = await job.run_once()
                seconds = (due - self._clock.now()).total_seconds() if due else _SECONDS_MAX
            except Exception as error:
                # The last handler of background work: one bad round must not be the last.
                log.warning("upkeep %s: %s", job.name, error, exc_info=not isinstance(error, MaestroError))
                seconds = _SECONDS_AFTER_FAILURE
            if seconds > 0:
                await _sleep(nudge, min(seconds, _SECONDS_MAX))
            if loop.time() < began + pace:
                await asyncio.sleep(began + pace - loop.time())


async def _sleep(nudge: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await nudge.wait()
    except TimeoutError:
        pass
