"""The feed gives stored events first, then new events, without a gap and without repetition."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from maestro.core import limits
from maestro.domain.events import Event, EventKind, NewEvent
from maestro.events.feed import CursorNotInLog, Feed
from maestro.events.hub import Hub
from maestro.store.base import Tx
from maestro.store.sqlite import SqliteStore
from maestro.testing.clock import FakeClock


@pytest.fixture
async def store(tmp_path: Path, clock: FakeClock) -> AsyncIterator[SqliteStore]:
    opened = SqliteStore(tmp_path / "maestro.db", clock=clock)
    yield opened
    await opened.close()


@pytest.fixture
def hub(store: SqliteStore) -> Hub:
    hub = Hub()
    store.on_commit(hub.publish)
    return hub


async def log_events(
    store: SqliteStore, count: int, *, project: str = "a", kind: EventKind = EventKind.TASK_CREATED
) -> None:
    def work(tx: Tx) -> None:
        for _ in range(count):
            tx.log(NewEvent(kind, "tsk", project, {}), actor="dana")

    await store.write(work)


async def take_seqs(events: AsyncIterator[Event], count: int) -> list[int]:
    async with asyncio.timeout(20):
        return [(await anext(events)).seq for _ in range(count)]


async def test_new_events_follow_stored_events_without_a_gap(store: SqliteStore, hub: Hub) -> None:
    await log_events(store, 3)
    events = Feed(store, hub).follow_log(since=1, project=None, kinds=())
    assert await take_seqs(events, 2) == [2, 3]
    waiting = asyncio.ensure_future(take_seqs(events, 4))
    await log_events(store, 2)
    await log_events(store, 2)
    assert await waiting == [4, 5, 6, 7]


async def test_events_written_during_the_replay_come_exactly_once(store: SqliteStore, hub: Hub) -> None:
    await log_events(store, 1200)
    events = Feed(store, hub).follow_log(since=0, project=None, kinds=())
    seen = await take_seqs(events, 100)
    writing = asyncio.gather(*(log_events(store, 1) for _ in range(300)))
    seen += await take_seqs(events, 1400)
    await writing
    assert seen == list(range(1, 1501))


async def test_a_slow_listener_reads_the_log_again_and_misses_no_event(store: SqliteStore, hub: Hub) -> None:
    await log_events(store, 1)
    events = Feed(store, hub).follow_log(since=0, project=None, kinds=())
    assert await take_seqs(events, 1) == [1]
    live = asyncio.ensure_future(take_seqs(events, 1))
    await log_events(store, 1)
    assert await live == [2]
    many = limits.feed_queue_events_max * 2
    for _ in range(4):
        await log_events(store, many // 4)
    assert await take_seqs(events, many) == list(range(3, many + 3))


async def test_a_feed_gives_only_events_of_the_project_and_of_the_kinds(store: SqliteStore, hub: Hub) -> None:
    events = Feed(store, hub).follow_log(since=0, project="b", kinds={"task.ready"})
    waiting = asyncio.ensure_future(take_seqs(events, 1))
    await log_events(store, 2, project="a", kind=EventKind.TASK_READY)
    await log_events(store, 1, project="b")
    await log_events(store, 1, project="b", kind=EventKind.TASK_READY)
    assert await waiting == [4]


async def test_a_cursor_before_the_horizon_is_refused(store: SqliteStore, hub: Hub, clock: FakeClock) -> None:
    await log_events(store, 10)
    clock.advance(10)
    await store.write(lambda tx: tx.events.prune_old(before=tx.at, limit=5))
    feed = Feed(store, hub)
    with pytest.raises(CursorNotInLog) as past:
        await feed.read_page(since=3, project=None, kinds=(), limit=10)
    assert past.value.horizon == 5
    events, cursor, _ = await feed.read_page(since=5, project=None, kinds=(), limit=10)
    assert [event.seq for event in events] == [6, 7, 8, 9, 10] and cursor == 10
