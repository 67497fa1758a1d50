"""Callers read the event log in pages or follow it as a stream; a cursor outside the log gets a snapshot."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.unit.services.conftest import OTHER, VC, World

from maestro.core import errors, limits
from maestro.domain.callers import Caller
from maestro.domain.events import EventKind
from maestro.events.feed import Feed
from maestro.operations import server as ops
from maestro.operations import task_shapes
from maestro.services.events import EventLog
from maestro.services.housekeeping.retention import EventRetentionJob
from maestro.services.sessions import lifecycle
from maestro.services.tasks import editing as tasks
from maestro.services.tasks import moves

DAY = 24 * 3600


@pytest.fixture
def log(world: World) -> EventLog:
    return EventLog(world.store, Feed(world.store, world.hub))


async def read(log: EventLog, caller: Caller, **fields: Any) -> ops.EventList:
    return await log.read_page(caller, ops.ReadEvents(**fields))


def stream(log: EventLog, caller: Caller, **fields: Any) -> AsyncIterator[Any]:
    return log.stream_events(caller, ops.ReadEvents(**fields))


async def take(events: AsyncIterator[Any], count: int) -> list[Any]:
    async with asyncio.timeout(20):
        return [await anext(events) for _ in range(count)]


async def take_all(events: AsyncIterator[Any]) -> list[Any]:
    async with asyncio.timeout(20):
        return [event async for event in events]


async def forget_events(world: World) -> None:
    """Let all present events grow too old, and remove them."""
    world.clock.advance(91 * DAY)
    await world.task()
    await EventRetentionJob(world.store, events_days=90).run_once()


async def test_a_session_reads_the_log_of_its_own_project(world: World, log: EventLog) -> None:
    worker, stranger = await world.join("w"), await world.boss("stranger", project=OTHER.id)
    await world.send(worker, "human", subject="Secret")
    for named in ("vc", VC.id):
        with pytest.raises(errors.NotPermitted, match="not of vc") as refused:
            await read(log, stranger, project=named)
        assert "task wait" in refused.value.hint
        with pytest.raises(errors.NotPermitted, match="not of vc"):
            await take_all(stream(log, stranger, project=named))
    for caller, fields in ((worker, {}), (worker, {"project": "vc"}), (world.dana, {"project": "vc"})):
        assert EventKind.MAIL_SENT in [event.kind for event in (await read(log, caller, **fields)).events]
    own = await read(log, stranger)
    assert {event.project for event in own.events} == {OTHER.id}


async def test_the_person_reads_all_projects_or_a_named_project(world: World, log: EventLog) -> None:
    await world.join("w")
    await world.join("stranger", project=OTHER.id)
    for fields in ({}, {"project": "vc", "everywhere": True}):
        assert {event.project for event in (await read(log, world.dana, **fields)).events} == {VC.id, OTHER.id}
    assert {event.project for event in (await read(log, world.dana, project="other")).events} == {OTHER.id}


async def test_the_cursor_of_a_page_leads_to_the_next_page(world: World, log: EventLog) -> None:
    for _ in range(3):
        await world.task()
    first = await read(log, world.dana, limit=4)
    assert len(first.events) == 4 and first.cursor == str(first.events[-1].seq)
    rest = await read(log, world.dana, since=int(first.cursor), limit=4)
    assert len(rest.events) == 2 and rest.cursor is None


async def test_the_log_returns_only_events_of_the_wanted_kinds(world: World, log: EventLog) -> None:
    await world.task()
    page = await read(log, world.dana, kind=[EventKind.TASK_READY])
    assert [event.kind for event in page.events] == ["task.ready"]
    streamed = await take_all(stream(log, world.dana, kind=[EventKind.TASK_READY]))
    assert [event.kind for event in streamed] == ["task.ready"]


async def test_a_stream_ends_after_its_limit(world: World, log: EventLog) -> None:
    await world.task()
    assert len(await take_all(stream(log, world.dana, since=0, follow=True, limit=1))) == 1


async def test_a_stream_without_a_start_follows_from_the_present_end(world: World, log: EventLog) -> None:
    old = await world.task()
    following = stream(log, world.dana, follow=True, limit=1, kind=[EventKind.TASK_CREATED])
    new = asyncio.create_task(take(following, 1))
    created = {(await world.task()).id}
    while not new.done():  # the stream may start after the first of these tasks
        created.add((await world.task()).id)
    assert (await new)[0].subject in created
    assert (await take_all(stream(log, world.dana, kind=[EventKind.TASK_CREATED])))[0].subject == old.id


async def test_the_stream_of_a_session_ends_with_the_session(world: World, log: EventLog) -> None:
    worker = await world.join("w")
    following = stream(log, worker, since=0, follow=True, kind=[EventKind.TASK_READY])
    await world.end(worker)
    assert await take_all(following) == []


async def test_an_earlier_end_of_a_revived_session_does_not_end_its_stream(world: World, log: EventLog) -> None:
    worker = await world.join("w")
    await world.end(worker, "lost")
    token_hash = lifecycle.hash_token(world.tokens[worker.name])
    revived = await world.store.write(lambda tx: lifecycle.revive_session(tx, token_hash))
    assert revived is not None
    following = stream(log, revived, since=0, follow=True, kind=[EventKind.TASK_CREATED])
    await world.task()
    assert [event.kind for event in await take(following, 1)] == ["task.created"]
    await world.end(revived, "lost")
    assert await take_all(following) == []


async def test_the_end_of_another_session_does_not_end_a_stream(world: World, log: EventLog) -> None:
    worker, other = await world.join("w"), await world.join("other")
    following = stream(log, worker, since=0, follow=True, kind=[EventKind.TASK_CREATED])
    await world.end(other)
    await world.task()
    assert [event.kind for event in await take(following, 1)] == ["task.created"]


@pytest.mark.parametrize("since", [1, 10_000], ids=["before the log", "after the log"])
async def test_a_cursor_that_is_not_in_the_log_gets_a_snapshot(world: World, log: EventLog, since: int) -> None:
    done, open_task = await world.task(), await world.task()
    await world.do(moves.cancel_task, task_shapes.ReasonedTask(id=done.id))
    await forget_events(world)
    page = await read(log, world.dana, since=since)
    assert page.events == [] and page.resync is not None and page.cursor == str(page.resync.seq)
    assert page.resync.complete and page.resync.horizon > 1
    assert [task["ref"] for task in page.resync.tasks] == [open_task.ref, "vc#3"]
    following = await read(log, world.dana, since=page.resync.seq)
    assert following.events == [] and following.resync is None


async def test_a_stream_with_an_old_cursor_gets_a_snapshot_and_continues(world: World, log: EventLog) -> None:
    await world.task()
    await forget_events(world)
    following = stream(log, world.dana, since=1, follow=True)
    (resync,) = await take(following, 1)
    assert isinstance(resync, ops.Resync)
    await world.task()
    assert [event.seq for event in await take(following, 1)] == [resync.seq + 1]


async def test_a_snapshot_holds_the_tasks_of_the_readable_projects_up_to_a_limit(
    world: World, log: EventLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    for project in (VC.id, VC.id, OTHER.id):
        await world.do(tasks.create_task, task_shapes.CreateTask(project=project, title="t"))
    worker = await world.join("w")

    async def snapshot(caller: Caller) -> tuple[list[object], bool]:
        resync = (await read(log, caller, since=10_000)).resync
        assert resync is not None
        return [task["ref"] for task in resync.tasks], resync.complete

    assert await snapshot(world.dana) == (["other#1", "vc#1", "vc#2"], True)
    assert await snapshot(worker) == (["vc#1", "vc#2"], True)
    monkeypatch.setattr(limits, "snapshot_tasks_max", 2)
    assert await snapshot(world.dana) == (["other#1", "vc#1"], False)
    assert await snapshot(worker) == (["vc#1", "vc#2"], True)
