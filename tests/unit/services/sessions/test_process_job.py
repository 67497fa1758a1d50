"""The end of the process of a session shortens its lease, and the session is lost soon without a sign of life."""

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
    """The job and an event that the job sets when it shortens a lease."""

    def __init__(self, world: World) -> None:
        self.event = asyncio.Event()
        self.job = ProcessWatchJob(world.store, world.presence, on_lease_shortened=self.event.set)

    async def wait(self) -> None:
        async with asyncio.timeout(20):
            await self.event.wait()
        self.event.clear()


async def left(world: World, caller: Any) -> float:
    """Return the remaining seconds of a session's lease."""
    session = await world.session(caller)
    return float((session.lease_until - world.clock.now()).total_seconds())


async def test_the_end_of_a_process_shortens_the_lease_and_the_session_is_lost_soon(world: World) -> None:
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
    assert (
        await world.session(worker)
    ).status == "working"  # the end of the process alone does not make the session lost
    judging = LostSessionJob(world.store, world.presence, clock=world.clock)
    world.clock.advance(limits.session_grace_seconds + 1)
    await judging.run_once()  # the first round of a new job starts a grace period
    world.clock.advance(limits.sleep_grace_seconds + 1)
    await judging.run_once()
    assert (await world.session(worker)).status == "lost"
    await noticed.job.close()


async def test_a_session_with_a_sign_of_life_after_the_end_of_its_process_is_not_lost(world: World) -> None:
    process, noticed = started(), Noticed(world)
    judging = LostSessionJob(world.store, world.presence, clock=world.clock)
    await judging.run_once()
    try:
        worker = await world.join("w", pid=process.pid)
        await noticed.job.run_once()
    finally:
        end(process)
    await noticed.wait()
    world.presence.record_sign(worker.name)  # the session calls from another process
    world.clock.advance(limits.session_grace_seconds + 1)
    await judging.run_once()
    assert (await world.session(worker)).ended_at is None
    await noticed.job.close()


async def test_a_process_that_ended_before_the_first_round_shortens_the_lease(world: World) -> None:
    process, noticed = started(), Noticed(world)
    try:
        worker = await world.join("w", pid=process.pid)
    finally:
        end(process)
    await noticed.job.run_once()
    await noticed.wait()
    assert await left(world, worker) <= limits.session_grace_seconds
    await noticed.job.close()


async def test_the_process_of_an_ended_session_is_no_longer_watched(world: World) -> None:
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
