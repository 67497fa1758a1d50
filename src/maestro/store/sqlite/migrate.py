"""Bring a database to the schema of this version, in one transaction."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from maestro.store.sqlite.connection import APPLICATION_ID, refuse_newer_schema, translate_error
from maestro.store.sqlite.migration_scripts import migration_scripts, present_schema
from maestro.system import small_files


def schema_version(connection: sqlite3.Connection) -> int:
    """Return the schema version of a database."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


def migrate_schema(connection: sqlite3.Connection, path: Path) -> None:
    """Create the present schema in an empty database, or apply the missing migrations.

    Refuse a database from a newer Maestro without changing the database.
    """
    known = migration_scripts()
    present = schema_version(connection)
    refuse_newer_schema(path, present)
    if present == len(known):
        return
    if present == 0:
        _apply(connection, path, len(known), present_schema())
        return
    _keep_copy(connection, path, present)
    _apply(connection, path, len(known), " ".join(known[present:]))


def _keep_copy(connection: sqlite3.Connection, path: Path, present: int) -> None:
    """Keep a copy of the database from before the migration, so that an upgrade can be undone."""
    copy = path.with_name(f"{path.name}.schema-{present}")
    if copy.exists():
        return
    part = copy.with_name(f".{copy.name}.part")
    part.unlink(missing_ok=True)
    connection.execute("VACUUM INTO ?", (str(part),))
    _flush(part)
    part.rename(copy)
    small_files.flush_folder(path.parent)


def _flush(file: Path) -> None:
    with file.open("rb+") as opened:
        os.fsync(opened.fileno())


def _apply(connection: sqlite3.Connection, path: Path, newest: int, script: str) -> None:
    """Run a script in one transaction: a killed process leaves the old or the new schema."""
    stamp = f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {newest};"
    try:
        connection.executescript(f"BEGIN IMMEDIATE; {script} {stamp} COMMIT;")
    except sqlite3.Error as error:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise translate_error(error, path) from error
