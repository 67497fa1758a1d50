"""The contract of every store. A new store adds itself to the fixture `store` in conftest.py."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from maestro.core import errors
from maestro.domain.events import Event, EventKind, NewEvent
from maestro.domain.projects import Project
from maestro.store.base import RollbackWithAnswer, Store, Tx
from maestro.store.sqlite import SqliteStore
from maestro.testing.clock import FakeClock
from maestro.testing.factories import make_task

PROJECT = Project("prj_00000000000000000000000000", "example.org/vc", "vc", ["plan"], FakeClock().now())


def log_event(text: str) -> Callable[[Tx], str]:
    """Return work that logs an event about `text` and returns `text`."""

    def work(tx: Tx) -> str:
        tx.log(NewEvent(EventKind.TASK_CREATED, text, PROJECT.id, {"text": text}), actor="dana")
        return text

    return work


async def read_log(store: Store) -> list[Event]:
    return await store.read(lambda tx: tx.events.list_after(0, limit=10_000))


async def test_a_reader_sees_a_write_as_soon_as_the_write_is_answered(store: Store) -> None:
    assert await store.write(log_event("one")) == "one"
    assert [(event.seq, event.subject, event.data) for event in await read_log(store)] == [
        (1, "one", {"text": "one"})
    ]


async def test_failed_work_undoes_only_the_events_of_that_work(store: Store) -> None:
    def fail(tx: Tx) -> None:
        log_event("never")(tx)
        raise errors.Conflict("no")

    # The store receives the three writes together, and runs them in a single transaction.
    answers = await asyncio.gather(
        store.write(log_event("before")), store.write(fail), store.write(log_event("after")), return_exceptions=True
    )
    assert isinstance(answers[1], errors.Conflict)
    assert [event.subject for event in await read_log(store)] == ["before", "after"]


async def test_work_that_fails_halfway_undoes_only_the_rows_of_that_work(store: Store) -> None:
    def fail_halfway(tx: Tx) -> None:
        tx.tasks.insert(make_task(project_id=PROJECT.id))
        log_event("never")(tx)
        raise errors.Conflict("no")

    def insert_task(tx: Tx) -> int:
        log_event("taken")(tx)
        return tx.tasks.insert(make_task(project_id=PROJECT.id))

    works: list[Callable[[Tx], Any]] = [insert_task, fail_halfway, insert_task, fail_halfway, insert_task]
    answers = await asyncio.gather(*(store.write(work) for work in works), return_exceptions=True)
    assert [answers[0], answers[2], answers[4]] == [1, 2, 3]
    assert isinstance(answers[1], errors.Conflict) and isinstance(answers[3], errors.Conflict)
    assert [event.seq for event in await read_log(store)] == [1, 2, 3]


@pytest.mark.parametrize("quick", [True, False])
async def test_changes_in_memory_count_once_and_only_if_the_work_is_stored(store: Store, quick: bool) -> None:
    """Check counters: work that fails halfway makes the whole batch run again."""
    counts: list[str] = []

    def count(tx: Tx, name: str) -> None:
        counts.append(name)
        tx.on_undo(lambda: counts.remove(name))

    def insert_task(tx: Tx) -> int:
        count(tx, "taken")
        return tx.tasks.insert(make_task(project_id=PROJECT.id))

    def fail_halfway(tx: Tx) -> None:
        insert_task(tx)
        raise errors.Conflict("no")

    def refuse(tx: Tx) -> None:
        count(tx, "refused")
        raise errors.Conflict("no")

    works: list[Callable[[Tx], Any]] = [insert_task, refuse, insert_task, fail_halfway, insert_task]
    await asyncio.gather(*(store.write(work, quick=quick) for work in works), return_exceptions=True)
    assert counts == ["taken", "taken", "taken"]


async def test_work_can_discard_its_writes_and_still_return_an_answer(store: Store) -> None:
    def insert_and_discard(tx: Tx) -> int:
        tx.tasks.insert(make_task(project_id=PROJECT.id))
        log_event("never")(tx)
        raise RollbackWithAnswer(42)

    assert await store.write(insert_and_discard) == 42
    assert await read_log(store) == []
    assert await store.read(lambda tx: tx.tasks.by_number(PROJECT.id, 1)) is None


@pytest.mark.parametrize("quick", [True, False])
async def test_a_rollback_clears_the_caches_of_the_writer(store: Store, quick: bool) -> None:
    added = Project("prj_00000000000000000000000009", "example.org/added", "added", ["plan"], PROJECT.created_at)

    def insert_and_fail(tx: Tx) -> None:
        tx.projects.insert(added)
        assert tx.projects.get(added.id) == added
        raise errors.Conflict("no")

    with pytest.raises(errors.Conflict):
        await store.write(insert_and_fail, quick=quick)
    assert await store.write(lambda tx: tx.projects.get(added.id), quick=quick) is None


async def test_failed_work_leaves_no_gap_in_the_sequence_numbers_of_the_log(store: Store) -> None:
    def fail(tx: Tx) -> None:
        log_event("never")(tx)
        raise ValueError

    works: list[Callable[[Tx], Any]] = [fail if number % 3 == 0 else log_event(str(number)) for number in range(90)]
    await asyncio.gather(*(store.write(work) for work in works), return_exceptions=True)
    assert [event.seq for event in await read_log(store)] == list(range(1, 61))


async def test_listeners_get_the_committed_events_in_order(store: Store) -> None:
    received: list[Event] = []
    store.on_commit(received.extend)

    def fail(tx: Tx) -> None:
        log_event("never")(tx)
        raise ValueError

    await asyncio.gather(
        *(store.write(log_event(str(n))) for n in range(50)), store.write(fail), return_exceptions=True
    )
    assert received == await read_log(store)


async def test_an_error_of_the_driver_becomes_a_maestro_error(store: Store) -> None:
    with pytest.raises(errors.StorageFailed):
        await store.write(lambda tx: tx.projects.insert(PROJECT))


async def test_a_read_sees_a_snapshot_without_later_writes(store: Store) -> None:
    loop = asyncio.get_running_loop()

    def read_twice(tx: Tx) -> tuple[int, int]:
        before = tx.events.last_seq()
        asyncio.run_coroutine_threadsafe(store.write(log_event("meanwhile")), loop).result(10)
        return before, tx.events.last_seq()

    before, after = await store.read(read_twice)
    assert before == after == 0
    assert len(await read_log(store)) == 1


async def test_a_reader_cannot_write(store: Store) -> None:
    with pytest.raises(errors.MaestroError):
        await store.read(lambda tx: tx.projects.add_key(PROJECT.id, "no"))
    assert await store.read(lambda tx: tx.projects.by_key("no")) is None


async def test_a_backup_is_a_store_without_later_writes(store: Store, tmp_path: Path, clock: FakeClock) -> None:
    await store.write(log_event("one"))
    await store.backup(tmp_path / "copy.db")
    await store.write(log_event("two"))
    copy = SqliteStore(tmp_path / "copy.db", clock=clock)
    try:
        assert [event.subject for event in await read_log(copy)] == ["one"]
    finally:
        await copy.close()
