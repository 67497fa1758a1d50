"""Brings a database to this version's schema, one numbered step at a time."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from maestro.store.sqlite.connection import APPLICATION_ID, refuse_newer, translated
from maestro.store.sqlite.steps import scripts


def version_of(connection: sqlite3.Connection) -> int:
    """How far a database has come."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


def migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Run the steps that are missing. A database from a newer Maestro is refused untouched."""
    known = scripts()
    present = version_of(connection)
    refuse_newer(path, present)
    if 0 < present < len(known):
        _keep_copy(connection, path, present)
    for number, script in enumerate(known[present:], present + 1):
        _apply(connection, path, number, script)


def _keep_copy(connection: sqlite3.Connection, path: Path, present: int) -> None:
    """An upgrade can be undone: the database as it was stays beside it."""
    copy = path.with_name(f"{path.name}.schema-{present}")
    if copy.exists():
        return
    part = copy.with_name(f".{copy.name}.part")
    part.unlink(missing_ok=True)
    connection.execute("VACUUM INTO ?", (str(part),))
    part.rename(copy)


def _apply(connection: sqlite3.Connection, path: Path, number: int, script: str) -> None:
    """One step, whole or not at all: the version moves in the same transaction."""
    stamp = f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {number};"
    try:
        connection.executescript(f"BEGIN IMMEDIATE; {script} {stamp} COMMIT;")
    except sqlite3.Error as error:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise translated(error, path) from error
