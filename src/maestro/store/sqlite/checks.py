"""Checks of a backup's copy of the database, and of the database itself, with or without a running server."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

from maestro.core import errors, limits
from maestro.store import statements
from maestro.store.sqlite.connection import translate_error


def require_sound(database: Path) -> None:
    """Refuse a copy in which SQLite's quick check finds damage."""
    # Writable: SQLite does not know the CHECK constraints of a database that it opens read-only.
    with _open(database, "mode=rw") as connection:
        damage = _run_check(connection, f"quick_check({limits.damage_lines_max})")
    if damage:
        raise errors.StorageDamaged(f"The database is damaged: {'; '.join(damage)}.", hint=errors.DAMAGE_HINT)


def named_blobs(database: Path) -> list[str]:
    """Return the names of all content files that rows of a copy refer to."""
    with open_unused(database) as connection:
        return read_named_blobs(connection)


def last_event_seq(database: Path) -> int:
    """Return the sequence number of a copy's last event."""
    with open_unused(database) as connection:
        return read_last_event_seq(connection)


def read_named_blobs(connection: sqlite3.Connection) -> list[str]:
    return [blob for (blob,) in connection.execute(statements.load("sqlite")["blobs_named"])]


def read_last_event_seq(connection: sqlite3.Connection) -> int:
    """Return the sequence number of the last event; 0 for a database without a schema."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if not version:
        return 0
    (seq,) = connection.execute(statements.load("sqlite")["events_last"]).fetchone()
    return int(seq)


def find_damage(connection: sqlite3.Connection, *, slowly: bool) -> list[str]:
    """Return the findings of SQLite's integrity check. `slowly`: check table by table, each in a short transaction.

    A long read transaction keeps the write-ahead log of a busy server from being reused.
    """
    if not slowly:
        return _run_check(connection, f"integrity_check({limits.damage_lines_max})")
    damage: list[str] = []
    for (table,) in connection.execute(statements.load("sqlite")["tables_stored"]).fetchall():
        damage += _run_check(connection, f"integrity_check('{table}')")
        time.sleep(limits.check_pause_seconds)
    return damage[: limits.damage_lines_max]


def _run_check(connection: sqlite3.Connection, check: str) -> list[str]:
    lines = [line for (text,) in connection.execute(f"PRAGMA {check}") for line in text.splitlines()]
    return [] if lines == ["ok"] else lines


@contextlib.contextmanager
def open_unused(database: Path) -> Iterator[sqlite3.Connection]:
    """Open a database without a write-ahead log that no other process writes to. Changes no file."""
    with _open(database, "mode=ro&immutable=1") as connection:
        yield connection


@contextlib.contextmanager
def open_in_use(database: Path) -> Iterator[sqlite3.Connection]:
    """Open a database that a server may be using, or that a killed server left with a write-ahead log."""
    has_log = database.with_name(f"{database.name}-wal").exists()
    with _open(database, "mode=ro" if has_log else "mode=ro&immutable=1") as connection:
        yield connection


@contextlib.contextmanager
def _open(database: Path, options: str) -> Iterator[sqlite3.Connection]:
    try:
        with contextlib.closing(sqlite3.connect(f"{database.absolute().as_uri()}?{options}", uri=True)) as connection:
            yield connection
    except sqlite3.Error as error:
        raise translate_error(error, database) from error
