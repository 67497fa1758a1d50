"""The repository of events: the log by sequence number, project and subject."""

from __future__ import annotations

from maestro.domain.events import Event, EventKind, NewEvent
from maestro.store.base import Store, Tx
from maestro.testing.clock import FakeClock

VC, OTHER = "prj_00000000000000000000000000", "prj_00000000000000000000000001"
LOGGED = [("tsk_1", VC), ("tsk_2", VC), ("tsk_1", OTHER), ("tsk_3", None)]


async def log_events(store: Store) -> None:
    def log(tx: Tx) -> None:
        for number, (subject, project) in enumerate(LOGGED):
            kind = EventKind.TASK_CREATED if number % 2 else EventKind.TASK_EDITED
            tx.log(NewEvent(kind, subject, project, {"n": [number, None, "✓"]}), actor="dana")

    await store.write(log)


def seqs(events: list[Event]) -> list[int]:
    return [event.seq for event in events]


async def test_an_event_keeps_every_field(store: Store, clock: FakeClock) -> None:
    await log_events(store)
    (event,) = await store.read(lambda tx: tx.events.list_after(0, limit=1))
    assert event == Event(1, clock.now(), VC, "task.edited", event.version, "dana", "tsk_1", {"n": [0, None, "✓"]})


async def test_events_are_listed_by_project_and_subject(store: Store) -> None:
    await log_events(store)
    assert seqs(await store.read(lambda tx: tx.events.list_after(1, limit=2))) == [2, 3]
    assert seqs(await store.read(lambda tx: tx.events.list_after(0, limit=9, project=VC))) == [1, 2]
    assert seqs(await store.read(lambda tx: tx.events.list_after(0, limit=9, subject="tsk_1"))) == [1, 3]
    assert seqs(await store.read(lambda tx: tx.events.list_after(1, limit=9, subject="tsk_1"))) == [3]
    subjects = ["tsk_3", "tsk_1", "tsk_3"]
    assert seqs(await store.read(lambda tx: tx.events.list_about(subjects, after=0, limit=9))) == [1, 3, 4]
    assert seqs(await store.read(lambda tx: tx.events.list_about(subjects, after=1, limit=1))) == [3]


async def test_the_newest_event_of_some_kinds_is_found(store: Store) -> None:
    await log_events(store)
    newest = await store.read(lambda tx: tx.events.newest_of_subject("tsk_1", kinds=["task.edited", "task.created"]))
    assert newest is not None and newest.seq == 3
    assert await store.read(lambda tx: tx.events.newest_of_subject("tsk_1", kinds=["task.deleted"])) is None


async def test_an_empty_log_has_last_number_zero_and_horizon_zero(store: Store) -> None:
    assert await store.read(lambda tx: (tx.events.last_seq(), tx.events.retention_horizon())) == (0, 0)
    await log_events(store)
    assert await store.read(lambda tx: (tx.events.last_seq(), tx.events.retention_horizon())) == (4, 0)


async def test_pruning_deletes_at_most_the_limit(store: Store, clock: FakeClock) -> None:
    await log_events(store)
    assert await store.write(lambda tx: tx.events.prune_old(before=tx.at, limit=9)) == 0
    clock.advance(1)
    assert await store.write(lambda tx: tx.events.prune_old(before=tx.at, limit=1)) == 1
    assert seqs(await store.read(lambda tx: tx.events.list_after(0, limit=9))) == [2, 3, 4]


async def test_pruning_moves_the_horizon_and_keeps_the_last_event(store: Store, clock: FakeClock) -> None:
    await log_events(store)
    await store.write(lambda tx: tx.log(NewEvent(EventKind.TASK_CREATED, "tsk_4", VC, {}), actor="dana"))
    clock.advance(1000)
    assert await store.write(lambda tx: tx.events.prune_old(before=tx.at, limit=3)) == 3
    assert await store.read(lambda tx: (tx.events.retention_horizon(), tx.events.last_seq())) == (3, 5)
    await store.write(lambda tx: tx.events.prune_old(before=tx.at, limit=100))
    assert await store.read(lambda tx: (tx.events.retention_horizon(), tx.events.last_seq())) == (4, 5)
    await log_events(store)
    assert seqs(await store.read(lambda tx: tx.events.list_after(5, limit=1))) == [6]
