"""Connections replace NUL characters in texts, refuse unsuitable files, and translate errors of the driver."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from maestro.core import errors
from maestro.domain.projects import Project
from maestro.store.base import Repositories
from maestro.store.sqlite import SqliteStore
from maestro.store.sqlite.connection import (
    APPLICATION_ID,
    DamagedText,
    SqliteRows,
    column_names,
    connect_reader,
    connect_writer,
    translate_error,
)
from maestro.store.sqlite.migration_scripts import migration_scripts
from maestro.testing.clock import FakeClock
from maestro.testing.factories import make_task

AT = FakeClock().now()
PROJECT = Project("prj_00000000000000000000000000", "example.org/vc", "vc", ["plan"], AT)
Connect = Callable[[Path], sqlite3.Connection]


@pytest.fixture
def database(tmp_path: Path, write_database: Callable[..., Path]) -> Iterator[sqlite3.Connection]:
    with contextlib.closing(connect_writer(write_database(tmp_path))) as connection:
        Repositories(SqliteRows(connection)).projects.insert(PROJECT)
        yield connection


# Texts with NUL characters.


async def test_a_text_with_nul_characters_is_found_by_the_original_text(tmp_path: Path, clock: FakeClock) -> None:
    store = SqliteStore(tmp_path / "maestro.db", clock=clock)
    key = "example.org/a\0b"
    project = Project(f"prj_{1:026}", key, "p", ["plan"], AT)
    await store.write(lambda tx: tx.projects.insert(project))
    found = await store.read(lambda tx: tx.projects.by_key(key))
    assert found is not None and found.id == project.id
    await store.close()


def test_nul_characters_are_stored_as_replacement_characters(database: sqlite3.Connection) -> None:
    tasks = Repositories(SqliteRows(database)).tasks
    task = make_task(project_id=PROJECT.id, title="a\0b\0", description="plain")
    tasks.insert(task)
    stored = tasks.get(task.id)
    assert stored is not None and (stored.title, stored.description) == ("a\ufffdb\ufffd", "plain")


@pytest.mark.parametrize(("nuls", "is_damage"), [(3, False), (4, True)])
def test_only_a_checking_connection_refuses_texts_that_end_with_many_nul_characters(
    database: sqlite3.Connection, nuls: int, is_damage: bool
) -> None:
    task = make_task(project_id=PROJECT.id)
    Repositories(SqliteRows(database)).tasks.insert(task)
    database.execute("UPDATE tasks SET title = ?", ("t" + "\0" * nuls,))
    assert Repositories(SqliteRows(database)).tasks.get(task.id) is not None
    checking = Repositories(SqliteRows(database, checks_texts=True)).tasks
    if is_damage:
        with pytest.raises(DamagedText):
            checking.get(task.id)
    else:
        assert checking.get(task.id) is not None


def test_the_column_names_of_a_statement_are_known() -> None:
    assert column_names("tables_stored") == ("name",)
    assert column_names("document_get")[:2] == ("id", "task_id")


# Opening.


def test_the_writer_flushes_every_commit_and_checks_foreign_keys(tmp_path: Path) -> None:
    with contextlib.closing(connect_writer(tmp_path / "a.db")) as connection:
        settings = [
            connection.execute(f"PRAGMA {name}").fetchone()
            for name in ("journal_mode", "synchronous", "foreign_keys", "auto_vacuum")
        ]
    full, incremental = 2, 2
    assert settings == [("wal",), (full,), (1,), (incremental,)]


def test_a_reader_cannot_write(database: sqlite3.Connection, tmp_path: Path) -> None:
    with contextlib.closing(connect_reader(tmp_path / "maestro.db")) as reader:
        assert reader.execute("SELECT name FROM projects").fetchall() == [("vc",)]
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            reader.execute("DELETE FROM projects")


def test_a_database_of_another_program_is_refused_and_not_changed(tmp_path: Path, connect: Connect) -> None:
    path = tmp_path / "a.db"
    connect(path).execute("CREATE TABLE recipes (name TEXT)")
    before = path.read_bytes()
    with pytest.raises(errors.StorageFailed, match="another program"):
        connect_writer(path)
    assert path.read_bytes() == before and [file.name for file in tmp_path.iterdir()] == ["a.db"]


def test_a_database_of_a_newer_maestro_is_refused_and_not_changed(tmp_path: Path, connect: Connect) -> None:
    path = tmp_path / "a.db"
    newer = len(migration_scripts()) + 1
    connect(path).executescript(
        f"CREATE TABLE tasks (id TEXT); PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {newer};"
    )
    before = path.read_bytes()
    with pytest.raises(errors.StorageTooNew, match=f"schema {newer};"):
        connect_writer(path)
    assert path.read_bytes() == before


def test_an_empty_file_is_accepted_as_a_new_database(tmp_path: Path) -> None:
    (tmp_path / "a.db").touch()
    connect_writer(tmp_path / "a.db").close()


def test_a_file_that_is_not_a_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.db").write_text("garbage " * 1000)
    with pytest.raises(errors.StorageDamaged):
        connect_writer(tmp_path / "a.db")


def test_a_database_in_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(errors.StorageReadOnly):
        connect_writer(tmp_path / "absent" / "a.db")


# Errors.


def make_error(code: int, text: str = "failed") -> sqlite3.Error:
    error = sqlite3.OperationalError(text)
    error.sqlite_errorcode = code
    return error


@pytest.mark.parametrize(
    ("error", "translated"),
    [
        (make_error(sqlite3.SQLITE_FULL), errors.StorageFull),
        (make_error(sqlite3.SQLITE_READONLY), errors.StorageReadOnly),
        (make_error(sqlite3.SQLITE_CANTOPEN), errors.StorageReadOnly),
        (make_error(sqlite3.SQLITE_PERM), errors.StorageReadOnly),
        (make_error(sqlite3.SQLITE_NOTADB), errors.StorageDamaged),
        (make_error(sqlite3.SQLITE_CORRUPT), errors.StorageDamaged),
        (make_error(sqlite3.SQLITE_CORRUPT_INDEX), errors.StorageDamaged),
        (make_error(sqlite3.SQLITE_IOERR_FSYNC), errors.StorageIOFailed),
        (make_error(sqlite3.SQLITE_CONSTRAINT), errors.StorageFailed),
        (sqlite3.OperationalError("Could not decode to UTF-8 column 'title'"), errors.StorageDamaged),
        (sqlite3.OperationalError("no such table: x"), errors.StorageFailed),
        (DamagedText("a stored text ends with NUL characters"), errors.StorageDamaged),
        (msgspec.DecodeError("invalid JSON"), errors.StorageDamaged),
    ],
    ids=str,
)
def test_each_error_of_the_driver_is_translated_into_an_error_of_maestro(
    error: Exception, translated: type[errors.StorageFailed]
) -> None:
    found = translate_error(error, "a.db")
    assert type(found) is translated
    assert isinstance(found, errors.StorageFull) or "a.db" in found.message


def test_a_stored_text_that_is_not_utf_8_is_reported_as_damage(database: sqlite3.Connection) -> None:
    database.execute("UPDATE projects SET name = CAST(x'ff' AS TEXT)")
    with pytest.raises(sqlite3.OperationalError) as caught:
        Repositories(SqliteRows(database)).projects.get(PROJECT.id)
    assert type(translate_error(caught.value, "a.db")) is errors.StorageDamaged
