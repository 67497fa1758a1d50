"""Brings a database to this version's schema, one numbered step at a time."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from maestro import errors
from maestro.store.sqlite.connection import APPLICATION_ID, translated
from maestro.store.sqlite.steps import scripts


def version_of(connection: sqlite3.Connection) -> int:
    """How far a database has come."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


def migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Run the steps that are missing. A database from a newer Maestro is refused untouched."""
    known = scripts()
    present = version_of(connection)
    if present > len(known):
        raise errors.StorageTooNew(
            f"{path} was written by a newer Maestro (schema {present}; this one knows {len(known)}). "
            "It was left as it is.",
            hint="Upgrade Maestro, or start with another MAESTRO_HOME.",
            data={"schema": present, "known": len(known)},
        )
    if 0 < present < len(known):
        _keep_copy(connection, path, present)
    for number, script in enumerate(known[present:], present + 1):
        _apply(connection, path, number, script)


def _keep_copy(connection: sqlite3.Connection, path: Path, present: int) -> None:
    """An upgrade can be undone: the database as it was stays beside it."""
    copy = path.with_name(f"{path.name}.schema-{present}")
    if not copy.exists():
        connection.execute("VACUUM INTO ?", (str(copy),))


def _apply(connection: sqlite3.Connection, path: Path, number: int, script: str) -> None:
    """One step, whole or not at all: the version moves in the same transaction."""
    stamp = f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {number};"
    try:
        connection.executescript(f"BEGIN IMMEDIATE; {script} {stamp} COMMIT;")
    except sqlite3.Error as error:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise translated(error, path) from error
