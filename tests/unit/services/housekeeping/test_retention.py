"""The job deletes old events and old idempotency keys in batches."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.unit.services.conftest import World

from maestro.core import limits
from maestro.domain.callers import Caller
from maestro.operations import server as server_ops
from maestro.operations import tasks
from maestro.operations.task_shapes import CreateTask
from maestro.server.app import Server
from maestro.services.housekeeping.retention import EventRetentionJob
from maestro.testing.clock import FakeClock

DAY = 24 * 3600


async def test_old_events_are_deleted_and_the_horizon_moves(
    server: Server, dana: Caller, vc: str, clock: FakeClock
) -> None:
    for number in range(4):
        await server.call(tasks.CREATE, CreateTask(project=vc, title=f"{number}"), caller=dana)
    before = await server.store.read(lambda tx: tx.events.last_seq())
    clock.advance(91 * 24 * 3600)
    await server.call(tasks.CREATE, CreateTask(project=vc, title="new"), caller=dana)
    due = await EventRetentionJob(server.store, events_days=90).run_once()
    assert due == clock.now() + timedelta(hours=1)
    assert await server.store.read(lambda tx: tx.events.retention_horizon()) == before
    page = await server.call(server_ops.EVENTS, server_ops.ReadEvents(since=1), caller=dana)
    assert page.resync is not None and page.resync.complete
    assert [task["ref"] for task in page.resync.tasks] == [f"vc#{number}" for number in range(1, 6)]
    following = await server.call(server_ops.EVENTS, server_ops.ReadEvents(since=page.resync.seq), caller=dana)
    assert following.events == [] and following.resync is None


async def test_idempotency_keys_are_deleted_after_a_week(
    server: Server, dana: Caller, vc: str, clock: FakeClock
) -> None:
    first = await server.call(tasks.CREATE, CreateTask(project=vc, title="a"), caller=dana, key="k")
    clock.advance(6 * 24 * 3600)
    await EventRetentionJob(server.store, events_days=0).run_once()
    assert (await server.call(tasks.CREATE, CreateTask(project=vc, title="a"), caller=dana, key="k")).id == first.id
    clock.advance(2 * 24 * 3600)
    await EventRetentionJob(server.store, events_days=0).run_once()
    assert (await server.call(tasks.CREATE, CreateTask(project=vc, title="a"), caller=dana, key="k")).id != first.id


async def horizon(world: World) -> int:
    return await world.store.read(lambda tx: tx.events.retention_horizon())


async def test_events_are_kept_for_ever_with_zero_days(world: World) -> None:
    await world.task()
    world.clock.advance(1000 * DAY)
    assert await EventRetentionJob(world.store, events_days=0).run_once() == world.clock.now() + timedelta(hours=1)
    assert await horizon(world) == 0 and len(await world.log()) == 2


async def test_events_are_kept_for_the_set_number_of_days(world: World) -> None:
    await world.task()
    world.clock.advance(90 * DAY)
    job = EventRetentionJob(world.store, events_days=90)
    await job.run_once()
    assert await horizon(world) == 0
    world.clock.advance(1)
    await job.run_once()
    assert await horizon(world) == 1, "the last event of the log always stays"


async def test_the_job_is_due_again_at_once_after_a_full_batch(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "job_batch_rows_max", 2)
    for _ in range(3):
        await world.task()
    world.clock.advance(91 * DAY)
    job = EventRetentionJob(world.store, events_days=90)
    assert [await job.run_once() for _ in range(3)] == [
        world.clock.now(),
        world.clock.now(),
        world.clock.now() + timedelta(hours=1),
    ]
    assert await horizon(world) == 5
