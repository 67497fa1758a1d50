"""The presence job stores signs of life in intervals; an open wait counts as a continuous sign of life."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from maestro.core import limits
from maestro.services.sessions.presence_job import PresenceJob

World = Any


async def test_the_job_stores_a_sign_of_life_and_renews_the_lease_once(world: World) -> None:
    one, two = await world.join("one"), await world.join("two")
    job = PresenceJob(world.store, world.presence, clock=world.clock)
    world.clock.advance(60)
    before = await world.session(two)
    for _ in range(100):
        world.presence.record_sign(one.name)
    assert (await world.session(one)).seen_at < world.clock.now()  # the sign of life is only in memory
    assert await job.run_once() == world.clock.now() + timedelta(seconds=limits.presence_store_seconds)
    session = await world.session(one)
    assert session.seen_at == world.clock.now()
    assert session.lease_until == world.clock.now() + timedelta(seconds=limits.session_lease_without_process_seconds)
    assert await world.session(two) == before and world.presence.take_unstored(9) == []
    world.clock.advance(5)
    await job.run_once()
    assert (await world.session(one)).seen_at == session.seen_at


async def test_the_job_renews_the_lease_and_the_claims_of_a_waiting_session(world: World) -> None:
    worker = await world.join("w")
    await world.task(held_by=worker)
    job = PresenceJob(world.store, world.presence, clock=world.clock)
    with world.presence.keep_connected(worker.name):
        for _ in range(5):
            world.clock.advance(limits.task_lease_seconds_default - 1)
            await job.run_once()
            session = await world.session(worker)
            task = await world.store.read(lambda tx: tx.tasks.by_number(worker.project_id, 1))
            assert session.lease_until > world.clock.now() and task.lease_until > world.clock.now()


async def test_a_sign_of_life_does_not_change_an_ended_session(world: World) -> None:
    worker = await world.join("w")
    world.presence.record_sign(worker.name)
    await world.end(worker)
    ended = await world.session(worker)
    world.clock.advance(5)
    await PresenceJob(world.store, world.presence, clock=world.clock).run_once()
    assert await world.session(worker) == ended
