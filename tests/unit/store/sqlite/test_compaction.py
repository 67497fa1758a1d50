"""A small database is compacted at the start of the server, and the command compacts a database of any size."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from maestro.core import errors, limits
from maestro.store.sqlite.compaction import compact_database, compact_if_small

Connect = Callable[[Path], sqlite3.Connection]
INCREMENTAL, NONE = 2, 0


@pytest.fixture
def loose(tmp_path: Path, connect: Connect) -> Path:
    """Return a database file with many free pages, without incremental vacuum."""
    connection = connect(tmp_path / "a.db")
    connection.execute("CREATE TABLE texts (text TEXT)")
    connection.execute("INSERT INTO texts VALUES (?)", ("x" * 400_000,))
    connection.execute("DELETE FROM texts")
    connection.close()
    return tmp_path / "a.db"


def read_mode(connection: sqlite3.Connection) -> int:
    (mode,) = connection.execute("PRAGMA auto_vacuum").fetchone()
    return int(mode)


def test_a_small_database_of_an_earlier_version_is_compacted(loose: Path, connect: Connect) -> None:
    before = loose.stat().st_size
    connection = connect(loose)
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    compact_if_small(connection, loose)
    assert loose.stat().st_size < before / 10
    assert read_mode(connect(loose)) == INCREMENTAL


def test_a_large_database_is_not_compacted_at_the_start(
    loose: Path, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = loose.stat().st_size
    monkeypatch.setattr(limits, "compact_at_start_bytes_max", before - 1)
    compact_if_small(connect(loose), loose)
    assert loose.stat().st_size == before
    monkeypatch.setattr(limits, "compact_at_start_bytes_max", before)
    compact_if_small(connect(loose), loose)
    assert loose.stat().st_size < before


def test_a_database_with_incremental_vacuum_is_not_compacted_at_the_start(tmp_path: Path, connect: Connect) -> None:
    connection = connect(tmp_path / "a.db")
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    connection.execute("CREATE TABLE texts (text TEXT)")
    connection.execute("INSERT INTO texts VALUES (?)", ("x" * 400_000,))
    connection.execute("DELETE FROM texts")
    before = (tmp_path / "a.db").stat().st_size
    compact_if_small(connection, tmp_path / "a.db")
    assert (tmp_path / "a.db").stat().st_size == before


def test_a_failed_compaction_at_the_start_is_only_logged(
    loose: Path, connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    connection = connect(loose)
    connection.execute("BEGIN")  # SQLite refuses VACUUM within a transaction
    with caplog.at_level(logging.WARNING):
        compact_if_small(connection, loose)
    assert "not compacted" in caplog.text


def test_the_command_compacts_a_database_and_returns_the_sizes_before_and_after(
    tmp_path: Path, write_database: Callable[..., Path], connect: Connect
) -> None:
    path = write_database(tmp_path)
    connection = connect(path)
    connection.execute("CREATE TABLE texts (text TEXT)")
    connection.execute("INSERT INTO texts VALUES (?)", ("x" * 400_000,))
    connection.execute("DELETE FROM texts")
    connection.close()
    before, after = compact_database(path)
    assert before - after > 300_000 and after == path.stat().st_size


def test_the_compaction_command_refuses_a_missing_database(tmp_path: Path) -> None:
    with pytest.raises(errors.NotFound):
        compact_database(tmp_path / "absent.db")
    assert list(tmp_path.iterdir()) == []


def test_the_compaction_command_reports_a_damaged_database(
    tmp_path: Path, write_database: Callable[..., Path], damage_table: Callable[[Path, str], None]
) -> None:
    path = write_database(tmp_path)
    damage_table(path, "tasks")
    with pytest.raises(errors.StorageDamaged):
        compact_database(path)
