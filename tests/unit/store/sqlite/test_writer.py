"""The writer refuses a whole batch to all callers if it cannot undo the changes in memory."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from maestro.core import errors
from maestro.domain.projects import Project
from maestro.store.base import Tx
from maestro.store.sqlite import SqliteStore
from maestro.testing.clock import FakeClock

AT = FakeClock().now()


def insert_project(tx: Tx, number: int) -> str:
    tx.projects.insert(Project(f"prj_{number:026}", f"example.org/{number}", f"p{number}", ["plan"], AT))
    return "stored"


def fail_to_undo() -> None:
    raise RuntimeError("cannot be undone")


async def test_a_failed_undo_refuses_the_whole_batch(
    tmp_path: Path, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    store = SqliteStore(tmp_path / "maestro.db", clock=clock)

    def first(tx: Tx) -> str:
        tx.on_undo(fail_to_undo)
        return insert_project(tx, 1)

    def last(tx: Tx) -> str:
        insert_project(tx, 3)
        raise errors.Conflict("halfway")

    work = [store.write(first), store.write(lambda tx: insert_project(tx, 2)), store.write(last)]
    answers = await asyncio.gather(*work, return_exceptions=True)
    assert [type(answer) for answer in answers] == [errors.StorageFailed] * 3
    assert await store.read(lambda tx: tx.projects.get(f"prj_{1:026}")) is None
    assert "cannot be undone" in caplog.text
    assert await store.write(lambda tx: insert_project(tx, 4)) == "stored"
    await store.close()
