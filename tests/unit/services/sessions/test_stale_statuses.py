"""An observed status of a session expires after a time, and an older status without an end counts again."""

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


async def test_the_reported_status_counts_again_after_an_observed_status_expires(world: World) -> None:
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


async def test_a_hook_status_idle_or_needs_input_does_not_expire_and_working_does(world: World) -> None:
    worker = await world.join("w")
    job = OldStatusJob(world.store)
    for what in (SessionStatus.IDLE, SessionStatus.NEEDS_INPUT):
        await say(world, worker, what, StatusSource.HOOK)
        world.clock.advance(limits.status_valid_seconds)
        assert await job.run_once() is None
        assert (await world.session(worker)).status is what
    await say(world, worker, SessionStatus.WORKING, StatusSource.HOOK)
    assert await job.run_once() is not None, "hooks renew the status working while the session works"


async def test_a_lasting_signal_counts_before_newer_expired_signals(world: World) -> None:
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


async def test_the_status_of_an_ended_session_does_not_expire(world: World) -> None:
    worker = await world.join("w")
    await say(world, worker, SessionStatus.IDLE, StatusSource.HOOK)
    await world.end(worker)
    ended = await world.session(worker)
    world.clock.advance(limits.status_valid_seconds)
    assert await OldStatusJob(world.store).run_once() is None
    assert await world.session(worker) == ended
