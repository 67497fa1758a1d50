"""What every store must do. A new driver adds itself to `store` in conftest.py and passes all of this."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from maestro.core import errors
from maestro.domain.events import Event, EventKind, NewEvent
from maestro.domain.projects import Project
from maestro.domain.tasks import TaskStatus
from maestro.store.base import Store, Tx
from maestro.store.sqlite import SqliteStore
from maestro.testing.clock import FakeClock
from maestro.testing.factories import make_task

PROJECT = Project("prj_00000000000000000000000000", "example.org/vc", "vc", ["plan"], FakeClock().now())  # is there


def say(text: str) -> Callable[[Tx], str]:
    def work(tx: Tx) -> str:
        tx.log(NewEvent(EventKind.TASK_CREATED, text, PROJECT.id, {"text": text}), actor="dana")
        return text

    return work


async def logged(store: Store) -> list[Event]:
    return await store.read(lambda tx: tx.events.list_after(0, limit=10_000))


async def test_an_answered_write_can_be_read_by_everyone(store: Store) -> None:
    assert await store.write(say("one")) == "one"
    assert [(event.seq, event.subject, event.data) for event in await logged(store)] == [(1, "one", {"text": "one"})]


async def test_a_failing_caller_undoes_its_own_work_and_no_one_elses(store: Store) -> None:
    def fails(tx: Tx) -> None:
        say("never")(tx)
        raise errors.Conflict("no")

    # Submitted together, so that they share a transaction.
    answers = await asyncio.gather(
        store.write(say("before")), store.write(fails), store.write(say("after")), return_exceptions=True
    )
    assert isinstance(answers[1], errors.Conflict)
    assert [event.subject for event in await logged(store)] == ["before", "after"]


async def test_a_caller_that_fails_halfway_undoes_what_it_wrote_and_nothing_else(store: Store) -> None:
    def halfway(tx: Tx) -> None:
        tx.tasks.insert(make_task(project_id=PROJECT.id))
        say("never")(tx)
        raise errors.Conflict("no")

    def takes(tx: Tx) -> int:
        say("taken")(tx)
        return tx.tasks.insert(make_task(project_id=PROJECT.id))

    works: list[Callable[[Tx], Any]] = [takes, halfway, takes, halfway, takes]
    answers = await asyncio.gather(*(store.write(work) for work in works), return_exceptions=True)
    assert [answers[0], answers[2], answers[4]] == [1, 2, 3]
    assert isinstance(answers[1], errors.Conflict) and isinstance(answers[3], errors.Conflict)
    assert [event.seq for event in await logged(store)] == [1, 2, 3]


@pytest.mark.parametrize("quick", [True, False])
async def test_what_a_caller_counts_in_memory_counts_once_and_only_if_it_is_stored(store: Store, quick: bool) -> None:
    """A neighbour that fails halfway makes the whole batch run again."""
    counted: list[str] = []

    def count(tx: Tx, name: str) -> None:
        counted.append(name)
        tx.on_undo(lambda: counted.remove(name))

    def takes(tx: Tx) -> int:
        count(tx, "taken")
        return tx.tasks.insert(make_task(project_id=PROJECT.id))

    def halfway(tx: Tx) -> None:
        takes(tx)
        raise errors.Conflict("no")

    def refused(tx: Tx) -> None:
        count(tx, "refused")
        raise errors.Conflict("no")

    works: list[Callable[[Tx], Any]] = [takes, refused, takes, halfway, takes]
    await asyncio.gather(*(store.write(work, quick=quick) for work in works), return_exceptions=True)
    assert counted == ["taken", "taken", "taken"]


async def test_the_log_has_no_gap_even_where_callers_failed(store: Store) -> None:
    def fails(tx: Tx) -> None:
        say("never")(tx)
        raise ValueError

    works: list[Callable[[Tx], Any]] = [fails if number % 3 == 0 else say(str(number)) for number in range(90)]
    await asyncio.gather(*(store.write(work) for work in works), return_exceptions=True)
    assert [event.seq for event in await logged(store)] == list(range(1, 61))


async def test_listeners_hear_each_commit_in_order_and_only_what_was_committed(store: Store) -> None:
    heard: list[Event] = []
    store.on_commit(heard.extend)

    def fails(tx: Tx) -> None:
        say("never")(tx)
        raise ValueError

    await asyncio.gather(*(store.write(say(str(n))) for n in range(50)), store.write(fails), return_exceptions=True)
    assert heard == await logged(store)


async def test_an_error_of_the_driver_comes_out_in_our_words(store: Store) -> None:
    with pytest.raises(errors.StorageFailed):
        await store.write(lambda tx: tx.projects.insert(PROJECT))


async def test_a_read_sees_one_snapshot(store: Store) -> None:
    loop = asyncio.get_running_loop()

    def twice(tx: Tx) -> tuple[int, int]:
        before = tx.events.last_seq()
        asyncio.run_coroutine_threadsafe(store.write(say("meanwhile")), loop).result(10)
        return before, tx.events.last_seq()

    before, after = await store.read(twice)
    assert before == after == 0
    assert len(await logged(store)) == 1


async def test_a_reader_cannot_write(store: Store) -> None:
    with pytest.raises(errors.MaestroError):
        await store.read(lambda tx: tx.projects.add_key(PROJECT.id, "no"))
    assert await store.read(lambda tx: tx.projects.by_key("no")) is None


async def test_a_move_is_refused_when_the_task_has_moved_meanwhile(store: Store) -> None:
    task = make_task(project_id=PROJECT.id)
    await store.write(lambda tx: tx.tasks.insert(task))

    def stale(tx: Tx) -> None:
        tx.tasks.move(
            make_task(id=task.id, status=TaskStatus.IN_REVIEW), make_task(id=task.id, status=TaskStatus.COMPLETED)
        )

    with pytest.raises(errors.ClaimLost):
        await store.write(stale)
    kept = await store.read(lambda tx: tx.tasks.get(task.id))
    assert kept is not None and kept.status is TaskStatus.TODO


async def test_what_is_stored_comes_back_as_it_was(store: Store) -> None:
    task = make_task(project_id=PROJECT.id, title="Ünïcödé ✓", accept=["a,b"], gates=["make 'test'"], number=1)
    await store.write(lambda tx: tx.tasks.insert(task))
    assert await store.read(lambda tx: tx.tasks.get(task.id)) == task
    assert await store.read(lambda tx: tx.tasks.by_number(PROJECT.id, 1)) == task
    assert await store.read(lambda tx: tx.projects.by_key("example.org/vc")) == PROJECT


async def test_pruning_moves_the_horizon_and_keeps_the_end(store: Store, clock: FakeClock) -> None:
    for number in range(5):
        await store.write(say(str(number)))
    clock.advance(1000)
    gone = await store.write(lambda tx: tx.events.prune_old(before=tx.at, limit=3))
    assert gone == 3
    assert await store.read(lambda tx: (tx.events.retention_horizon(), tx.events.last_seq())) == (3, 5)
    await store.write(lambda tx: tx.events.prune_old(before=tx.at, limit=100))
    assert await store.read(lambda tx: (tx.events.retention_horizon(), tx.events.last_seq())) == (4, 5)
    await store.write(say("next"))
    assert (await logged(store))[-1].seq == 6


async def test_a_backup_is_a_store_of_its_own(store: Store, tmp_path: Path, clock: FakeClock) -> None:
    await store.write(say("one"))
    await store.backup(tmp_path / "copy.db")
    await store.write(say("two"))
    copy = SqliteStore(tmp_path / "copy.db", clock=clock)
    try:
        assert [event.subject for event in await logged(copy)] == ["one"]
    finally:
        await copy.close()


async def test_closing_finishes_what_was_accepted(tmp_path: Path, clock: FakeClock) -> None:
    store = SqliteStore(tmp_path / "closing.db", clock=clock)
    writes = [asyncio.ensure_future(store.write(say(str(number)))) for number in range(200)]
    await asyncio.sleep(0)
    await store.close()
    assert len({await write for write in writes}) == 200
