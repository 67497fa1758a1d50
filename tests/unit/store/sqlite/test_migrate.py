"""Migrations of a database are applied all or not at all, after a copy of the earlier database."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from maestro.core import errors
from maestro.store.sqlite.connection import APPLICATION_ID
from maestro.store.sqlite.migrate import migrate_schema, schema_version
from maestro.store.sqlite.migration_scripts import migration_scripts

NEWEST = len(migration_scripts())
Connect = Callable[[Path], sqlite3.Connection]


def write_first_schema(connection: sqlite3.Connection) -> None:
    connection.executescript(migration_scripts()[0])
    connection.execute("PRAGMA user_version = 1")


def test_an_empty_database_gets_the_newest_schema_without_a_copy(tmp_path: Path, connect: Connect) -> None:
    connection = connect(tmp_path / "a.db")
    migrate_schema(connection, tmp_path / "a.db")
    assert schema_version(connection) == NEWEST
    assert connection.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
    assert [file.name for file in tmp_path.iterdir()] == ["a.db"]


def test_an_old_database_is_copied_before_its_migration(tmp_path: Path, connect: Connect) -> None:
    connection = connect(tmp_path / "a.db")
    write_first_schema(connection)
    (tmp_path / ".a.db.schema-1.part").write_text("the rest of a killed migration")
    migrate_schema(connection, tmp_path / "a.db")
    assert schema_version(connection) == NEWEST
    assert schema_version(connect(tmp_path / "a.db.schema-1")) == 1
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.db", "a.db.schema-1"]


def test_an_existing_copy_of_an_old_database_is_kept(tmp_path: Path, connect: Connect) -> None:
    connection = connect(tmp_path / "a.db")
    write_first_schema(connection)
    (tmp_path / "a.db.schema-1").write_text("an earlier copy")
    migrate_schema(connection, tmp_path / "a.db")
    assert (tmp_path / "a.db.schema-1").read_text() == "an earlier copy"


def test_a_database_of_the_newest_schema_is_not_changed(tmp_path: Path, connect: Connect) -> None:
    connection = connect(tmp_path / "a.db")
    migrate_schema(connection, tmp_path / "a.db")
    changes = connection.total_changes
    migrate_schema(connection, tmp_path / "a.db")
    assert connection.total_changes == changes and len(list(tmp_path.iterdir())) == 1


def test_a_database_of_a_newer_schema_is_refused(tmp_path: Path, connect: Connect) -> None:
    connection = connect(tmp_path / "a.db")
    connection.execute(f"PRAGMA user_version = {NEWEST + 1}")
    with pytest.raises(errors.StorageTooNew) as caught:
        migrate_schema(connection, tmp_path / "a.db")
    assert caught.value.data == {"schema": NEWEST + 1, "known": NEWEST}
    assert connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)


def test_a_failed_migration_changes_no_table(tmp_path: Path, connect: Connect) -> None:
    connection = connect(tmp_path / "a.db")
    connection.execute("CREATE TABLE tasks (name TEXT)")
    with pytest.raises(errors.StorageFailed, match="tasks"):
        migrate_schema(connection, tmp_path / "a.db")
    assert not connection.in_transaction and schema_version(connection) == 0
    assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("tasks",)]
