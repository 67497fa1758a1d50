"""Background work is done when it is due, and when somebody says so, in whatever thread."""

from __future__ import annotations

import asyncio
import threading
from datetime import datetime

from maestro.services.jobs import BackgroundJobs
from maestro.testing.clock import FakeClock

_SECONDS_MAX = 10.0


class Rounds:
    """A job that is never due by itself."""

    name = "rounds"

    def __init__(self) -> None:
        self.done = 0
        self.again = asyncio.Event()

    async def run_once(self) -> datetime | None:
        self.done += 1
        if self.done > 1:
            self.again.set()
        return None


async def test_a_nudge_out_of_another_thread_wakes_it(clock: FakeClock) -> None:
    job = Rounds()
    upkeep = BackgroundJobs([job], clock=clock)
    await asyncio.sleep(0.01)
    assert job.done == 1
    threading.Timer(0.05, upkeep.nudge_job_from_thread, [job.name]).start()
    async with asyncio.timeout(_SECONDS_MAX):
        await job.again.wait()
    await upkeep.close()
