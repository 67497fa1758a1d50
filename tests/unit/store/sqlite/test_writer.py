"""A batch whose failure cannot even be undone in memory is acknowledged to nobody."""

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


def insert(tx: Tx, number: int) -> str:
    tx.projects.insert(Project(f"prj_{number:026}", f"example.org/{number}", f"p{number}", ["plan"], AT))
    return "stored"


def fail_to_undo() -> None:
    raise RuntimeError("cannot be undone")


async def test_a_failure_of_the_undoing_is_told_to_every_caller(
    tmp_path: Path, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    store = SqliteStore(tmp_path / "maestro.db", clock=clock)

    def first(tx: Tx) -> str:
        tx.on_undo(fail_to_undo)
        return insert(tx, 1)

    def last(tx: Tx) -> str:
        insert(tx, 3)
        raise errors.Conflict("halfway")

    work = [store.write(first), store.write(lambda tx: insert(tx, 2)), store.write(last)]
    answers = await asyncio.gather(*work, return_exceptions=True)
    assert [type(answer) for answer in answers] == [errors.StorageFailed] * 3
    assert await store.read(lambda tx: tx.projects.get(f"prj_{1:026}")) is None
    assert "cannot be undone" in caplog.text
    assert await store.write(lambda tx: insert(tx, 4)) == "stored"
    await store.close()


async def test_a_text_with_nul_is_found_by_the_text_that_was_given(tmp_path: Path, clock: FakeClock) -> None:
    store = SqliteStore(tmp_path / "maestro.db", clock=clock)
    key = "example.org/a\0b"
    made = Project(f"prj_{1:026}", key, "p", ["plan"], AT)
    await store.write(lambda tx: tx.projects.insert(made))
    found = await store.read(lambda tx: tx.projects.by_key(key))
    assert found is not None and found.id == made.id
    await store.close()
