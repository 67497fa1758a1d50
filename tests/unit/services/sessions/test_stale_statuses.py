"""What others observed of a session counts for a while; then an older word that stands counts again."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from maestro.core import limits
from maestro.domain.events import EventKind
from maestro.domain.sessions import SessionStatus, StatusSource
from maestro.services.sessions import status
from maestro.services.sessions.stale_statuses import OldStatusJob

World = Any


async def say(world: World, who: Any, what: SessionStatus, source: StatusSource) -> None:
    def said(tx: Any) -> None:
        status.apply_signal(tx, tx.sessions.get(who.name), what, source=source, actor="test")

    await world.store.write(said)


async def changes(world: World, who: Any) -> list[str]:
    events = await world.store.read(lambda tx: tx.events.list_after(0, subject=who.name, limit=100))
    return [event.data["status"] for event in events if event.kind == EventKind.SESSION_STATUS_CHANGED]


async def test_an_observation_gives_way_to_what_the_session_said_itself(world: World) -> None:
    worker = await world.join("w")
    job = OldStatusJob(world.store)
    await say(world, worker, SessionStatus.WORKING, StatusSource.REPORT)
    await say(world, worker, SessionStatus.IDLE, StatusSource.PROCESS)
    assert await job.run_once() == world.clock.now() + timedelta(seconds=limits.status_valid_seconds)
    assert (await world.session(worker)).status is SessionStatus.IDLE
    world.clock.advance(limits.status_valid_seconds)
    assert await job.run_once() == world.clock.now()
    session = await world.session(worker)
    assert (session.status, session.status_source, session.status_until) == (
        SessionStatus.WORKING,
        StatusSource.REPORT,
        None,
    )
    assert (await changes(world, worker))[-2:] == ["idle", "working"]
    assert await job.run_once() is None


async def test_hooks_tell_of_changes_so_what_they_say_of_silence_stands(world: World) -> None:
    worker = await world.join("w")
    job = OldStatusJob(world.store)
    for what in (SessionStatus.IDLE, SessionStatus.NEEDS_INPUT):
        await say(world, worker, what, StatusSource.HOOK)
        world.clock.advance(limits.status_valid_seconds)
        assert await job.run_once() is None
        assert (await world.session(worker)).status is what
    await say(world, worker, SessionStatus.WORKING, StatusSource.HOOK)
    assert await job.run_once() is not None, "that it works is heard again and again, or not true any more"


async def test_the_last_there_was_stands_when_all_are_old(world: World) -> None:
    worker = await world.join("w")
    await world.store.write(lambda tx: tx.sessions.clear_cache())
    for source, what in ((StatusSource.HOOK, SessionStatus.WORKING), (StatusSource.PROCESS, SessionStatus.IDLE)):
        world.clock.advance(1)
        await say(world, worker, what, source)
    signals = await world.store.read(lambda tx: tx.sessions.signals_of(worker.name))
    world.clock.advance(limits.status_valid_seconds)
    job = OldStatusJob(world.store)
    while await job.run_once() is not None:
        pass
    session = await world.session(worker)
    expected = max(signals, key=lambda one: (one.until is None, one.at))
    assert (session.status, session.status_until) == (expected.status, None)


async def test_the_ended_are_left_alone(world: World) -> None:
    worker = await world.join("w")
    await say(world, worker, SessionStatus.IDLE, StatusSource.HOOK)
    await world.end(worker)
    ended = await world.session(worker)
    world.clock.advance(limits.status_valid_seconds)
    assert await OldStatusJob(world.store).run_once() is None
    assert await world.session(worker) == ended
