"""The checks of a database find damage, the named content files and the last event."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from maestro.core import errors, limits
from maestro.store.sqlite import checks

WriteDatabase = Callable[..., Path]
DamageTable = Callable[[Path, str], None]
Connect = Callable[[Path], sqlite3.Connection]


def test_a_sound_database_is_accepted(tmp_path: Path, write_database: WriteDatabase) -> None:
    checks.require_sound(write_database(tmp_path))


def test_a_database_with_a_damaged_page_is_refused(
    tmp_path: Path, write_database: WriteDatabase, damage_table: DamageTable
) -> None:
    path = write_database(tmp_path, last_seq=1)
    damage_table(path, "tasks")
    with pytest.raises(errors.StorageDamaged) as caught:
        checks.require_sound(path)
    assert caught.value.hint == errors.DAMAGE_HINT


def test_a_database_with_a_row_that_violates_a_constraint_is_refused(
    tmp_path: Path, write_database: WriteDatabase, connect: Connect
) -> None:
    path = write_database(tmp_path)
    connection = connect(path)
    connection.execute("CREATE TABLE parts (number INTEGER CHECK (number > 0))")
    connection.execute("PRAGMA ignore_check_constraints = ON")
    connection.execute("INSERT INTO parts VALUES (0)")
    connection.close()
    with pytest.raises(errors.StorageDamaged, match="parts"):
        checks.require_sound(path)


def test_a_file_that_is_not_a_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.db").write_text("not a database\n" * 1000)
    with pytest.raises(errors.StorageDamaged):
        checks.require_sound(tmp_path / "a.db")


def test_a_missing_database_is_refused_and_not_created(tmp_path: Path) -> None:
    with pytest.raises(errors.StorageFailed), checks.open_unused(tmp_path / "absent.db"):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("last_seq", [0, 3])
def test_the_number_of_the_last_event_of_a_database_is_found(
    tmp_path: Path, write_database: WriteDatabase, last_seq: int
) -> None:
    assert checks.last_event_seq(write_database(tmp_path, last_seq=last_seq)) == last_seq


def test_the_last_event_number_of_a_database_without_a_schema_is_zero() -> None:
    connection = sqlite3.connect(":memory:")
    assert checks.read_last_event_seq(connection) == 0
    connection.close()


def test_each_content_file_that_a_database_names_is_listed_once(
    tmp_path: Path, write_database: WriteDatabase, connect: Connect
) -> None:
    path = write_database(tmp_path)
    assert checks.named_blobs(path) == []
    connection = connect(path)
    connection.execute("PRAGMA foreign_keys = OFF")
    for number in range(2):
        connection.execute(
            "INSERT INTO documents (id, task_id, title, file_name, bytes, sha256, blob, by, created_at) "
            "VALUES (?, 'tsk_1', 't', 'f', 1, 'd', 'd', 'dana', 1)",
            (f"doc_{number}",),
        )
    connection.close()
    assert checks.named_blobs(path) == ["d"]


@pytest.mark.parametrize("slowly", [False, True])
def test_found_damage_is_described_in_a_limited_number_of_lines(
    tmp_path: Path,
    write_database: WriteDatabase,
    connect: Connect,
    monkeypatch: pytest.MonkeyPatch,
    slowly: bool,
) -> None:
    monkeypatch.setattr(limits, "check_pause_seconds", 0)
    path = write_database(tmp_path)
    with checks.open_unused(path) as unused:
        assert checks.find_damage(unused, slowly=slowly) == []
    connection = connect(path)
    connection.execute("CREATE TABLE parts (number INTEGER)")
    connection.executemany("INSERT INTO parts VALUES (?)", [(None,)] * (limits.damage_lines_max + 1))
    connection.execute("PRAGMA writable_schema = ON")
    new_schema = "CREATE TABLE parts (number INTEGER NOT NULL)"
    connection.execute("UPDATE sqlite_master SET sql = ? WHERE name = 'parts'", (new_schema,))
    connection.close()
    with checks.open_unused(path) as unused:
        damage = checks.find_damage(unused, slowly=slowly)
    assert damage == ["NULL value in parts.number"] * limits.damage_lines_max


def test_a_reader_of_a_database_in_use_sees_the_last_commit(
    tmp_path: Path, write_database: WriteDatabase, connect: Connect
) -> None:
    path = write_database(tmp_path)
    connection = connect(path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE added (name TEXT)")
    assert path.with_name(f"{path.name}-wal").stat().st_size > 0
    with checks.open_in_use(path) as reader:
        assert reader.execute("SELECT count(*) FROM added").fetchone() == (0,)


def test_opening_a_database_without_a_write_ahead_log_creates_no_file(
    tmp_path: Path, write_database: WriteDatabase
) -> None:
    path = write_database(tmp_path)
    for opened in (checks.open_unused(path), checks.open_in_use(path)):
        with opened as connection:
            connection.execute("SELECT count(*) FROM tasks").fetchone()
            assert [file.name for file in tmp_path.iterdir()] == [path.name]
