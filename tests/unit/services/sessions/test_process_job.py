"""A session whose process ends is noticed at once, and called lost soon after unless it is heard of again."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from typing import Any

import pytest

from maestro.core import limits
from maestro.services.recovery.lost_sessions import LostSessionJob
from maestro.services.sessions.process_job import ProcessWatchJob

World = Any
pytestmark = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="the system does not tell of ends")


def started() -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)


def end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.communicate()


class Noticed:
    """The job, and an event for what it has noticed."""

    def __init__(self, world: World) -> None:
        self.event = asyncio.Event()
        self.job = ProcessWatchJob(world.store, world.presence, on_lease_shortened=self.event.set)

    async def wait(self) -> None:
        async with asyncio.timeout(20):
            await self.event.wait()
        self.event.clear()


async def left(world: World, caller: Any) -> float:
    """Seconds that are left of a session's lease."""
    session = await world.session(caller)
    return float((session.lease_until - world.clock.now()).total_seconds())


async def test_an_end_shortens_the_lease_and_the_session_is_lost_soon(world: World) -> None:
    process, noticed = started(), Noticed(world)
    try:
        worker = await world.join("w", pid=process.pid)
        world.presence.record_sign(worker.name)
        await noticed.job.run_once()
        assert await left(world, worker) > limits.session_grace_seconds
    finally:
        end(process)
    await noticed.wait()
    assert await left(world, worker) <= limits.session_grace_seconds
    signals = await world.store.read(lambda tx: tx.sessions.signals_of(worker.name))
    assert [(one.source, one.status, one.detail) for one in signals if one.source == "process"] == [
        ("process", "lost", f"process {process.pid} has ended")
    ]
    assert (await world.session(worker)).status == "working"  # that alone does not make it lost
    judging = LostSessionJob(world.store, world.presence, clock=world.clock)
    world.clock.advance(limits.session_grace_seconds + 1)
    await judging.run_once()  # the first round after a start is patient
    world.clock.advance(limits.sleep_grace_seconds + 1)
    await judging.run_once()
    assert (await world.session(worker)).status == "lost"
    await noticed.job.close()


async def test_one_that_is_heard_of_again_lives_on(world: World) -> None:
    process, noticed = started(), Noticed(world)
    judging = LostSessionJob(world.store, world.presence, clock=world.clock)
    await judging.run_once()
    try:
        worker = await world.join("w", pid=process.pid)
        await noticed.job.run_once()
    finally:
        end(process)
    await noticed.wait()
    world.presence.record_sign(worker.name)  # it calls from another process: a child has taken over
    world.clock.advance(limits.session_grace_seconds + 1)
    await judging.run_once()
    assert (await world.session(worker)).ended_at is None
    await noticed.job.close()


async def test_a_process_that_was_gone_before_anyone_looked_is_noticed_too(world: World) -> None:
    process, noticed = started(), Noticed(world)
    try:
        worker = await world.join("w", pid=process.pid)
    finally:
        end(process)
    await noticed.job.run_once()
    await noticed.wait()
    assert await left(world, worker) <= limits.session_grace_seconds
    await noticed.job.close()


async def test_the_ended_are_watched_no_longer(world: World) -> None:
    process, noticed = started(), Noticed(world)
    try:
        worker = await world.join("w", pid=process.pid)
        await noticed.job.run_once()
        await world.end(worker)
        await noticed.job.run_once()
    finally:
        end(process)
    await noticed.job.run_once()
    assert not noticed.event.is_set()
    await noticed.job.close()
