"""The embedded store finishes writes before it closes, keeps its mark exact, and reports faults and lost events."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from maestro.core import errors
from maestro.domain.events import EventKind, NewEvent
from maestro.domain.projects import Project
from maestro.store.base import Tx
from maestro.store.mark import Mark
from maestro.store.sqlite import SqliteStore
from maestro.store.sqlite.migration_scripts import migration_scripts
from maestro.testing.clock import FakeClock

PROJECT = Project("prj_00000000000000000000000000", "example.org/vc", "vc", ["plan"], FakeClock().now())


def log_event(text: str) -> Callable[[Tx], str]:
    """Return work that logs an event about `text` and returns `text`."""

    def work(tx: Tx) -> str:
        tx.log(NewEvent(EventKind.TASK_CREATED, text, None, {}), actor="dana")
        return text

    return work


async def test_closing_the_store_finishes_all_accepted_writes(tmp_path: Path, clock: FakeClock) -> None:
    store = SqliteStore(tmp_path / "closing.db", clock=clock)
    writes = [asyncio.ensure_future(store.write(log_event(str(number)))) for number in range(200)]
    await asyncio.sleep(0)
    await store.close()
    assert len({await write for write in writes}) == 200


async def test_the_mark_names_the_last_event_after_the_store_is_closed(tmp_path: Path, clock: FakeClock) -> None:
    store = SqliteStore(tmp_path / "a.db", clock=clock)
    assert store.lost_events is None and store.schema == len(migration_scripts())
    for number in range(3):
        await store.write(log_event(str(number)))
    await store.close()
    assert Mark(tmp_path / "a.mark").read() == 3


async def test_a_store_behind_its_mark_reports_lost_events(tmp_path: Path, clock: FakeClock) -> None:
    store = SqliteStore(tmp_path / "a.db", clock=clock)
    await store.write(log_event("one"))
    await store.close()
    Mark(tmp_path / "a.mark").write(4)
    store = SqliteStore(tmp_path / "a.db", clock=clock)
    await store.close()
    assert store.lost_events is not None and "events 2 to 4" in store.lost_events.text


async def test_a_quick_read_runs_on_the_event_loop_and_any_other_read_in_a_thread(
    tmp_path: Path, clock: FakeClock
) -> None:
    store = SqliteStore(tmp_path / "a.db", clock=clock)

    def thread_name(tx: Tx) -> str:
        return threading.current_thread().name

    assert await store.read(thread_name, quick=True) == threading.current_thread().name
    assert (await store.read(thread_name)).startswith("maestro-reader")
    await store.close()


async def test_a_failed_read_leaves_the_connection_usable(tmp_path: Path, clock: FakeClock) -> None:
    store = SqliteStore(tmp_path / "a.db", clock=clock)

    def fail(tx: Tx) -> None:
        raise errors.Conflict("no")

    for _ in range(2):
        with pytest.raises(errors.Conflict):
            await store.read(fail, quick=True)
    assert await store.read(lambda tx: tx.events.last_seq(), quick=True) == 0
    await store.close()


async def test_a_damaged_value_is_reported_and_an_ordinary_error_is_not(tmp_path: Path, clock: FakeClock) -> None:
    store = SqliteStore(tmp_path / "a.db", clock=clock)
    faults: asyncio.Queue[errors.StorageFailed] = asyncio.Queue()
    store.on_fault(faults.put_nowait)
    await store.write(lambda tx: tx.projects.insert(PROJECT))
    with pytest.raises(errors.StorageFailed):
        await store.write(lambda tx: tx.projects.insert(PROJECT))
    with sqlite3.connect(tmp_path / "a.db") as connection:
        connection.execute("UPDATE projects SET name = CAST(x'ff' AS TEXT)")
    connection.close()
    with pytest.raises(errors.StorageDamaged):
        await store.read(lambda tx: tx.projects.get(PROJECT.id))
    fault = await asyncio.wait_for(faults.get(), 10)
    assert isinstance(fault, errors.StorageDamaged) and faults.empty()
    await store.close()


async def test_a_backup_returns_its_schema_and_size(tmp_path: Path, clock: FakeClock) -> None:
    store = SqliteStore(tmp_path / "a.db", clock=clock)
    told = await store.backup(tmp_path / "copy.db")
    assert told == {"schema": store.schema, "bytes": (tmp_path / "copy.db").stat().st_size}
    assert not list(tmp_path.glob("copy.db-*")), "The copy has a write-ahead log."
    await store.close()


async def test_a_backup_that_cannot_be_written_is_a_fault_of_the_target_and_not_of_the_store(
    tmp_path: Path, clock: FakeClock
) -> None:
    store = SqliteStore(tmp_path / "a.db", clock=clock)
    faults: list[errors.StorageFailed] = []
    store.on_fault(faults.append)
    with pytest.raises(errors.StorageReadOnly, match=r"absent/copy\.db"):
        await store.backup(tmp_path / "absent" / "copy.db")
    await asyncio.sleep(0)
    assert faults == []
    await store.close()


async def test_a_database_with_a_failed_migration_is_closed_and_refused(tmp_path: Path, clock: FakeClock) -> None:
    with sqlite3.connect(tmp_path / "a.db") as connection:
        connection.execute(f"PRAGMA application_id = {0x4D414553}")
        connection.execute("CREATE TABLE tasks (name TEXT)")
    connection.close()
    with pytest.raises(errors.StorageFailed):
        SqliteStore(tmp_path / "a.db", clock=clock)
    assert [file.name for file in tmp_path.iterdir()] == ["a.db"], (
        "A log file shows that the connection is still open."
    )
