"""Opening a SQLite database, and its faults in our words."""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from maestro import errors
from maestro.store import statements
from maestro.store.rows import Row
from maestro.store.sqlite.steps import scripts

APPLICATION_ID = 0x4D_41_45_53  # "MAES"
_CACHED_STATEMENTS = 512


class SqliteRows:
    """A connection that runs statements by name."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._execute = connection.execute
        self._execute_many = connection.executemany
        self._sql = statements.load("sqlite")

    def run(self, name: str, /, **values: Any) -> int:
        return self._execute(self._sql[name], values).rowcount

    def many(self, name: str, sets: Sequence[Mapping[str, Any]], /) -> None:
        self._execute_many(self._sql[name], sets)

    def one(self, name: str, /, **values: Any) -> Row | None:
        # All rows are fetched, so that a statement that also writes (RETURNING) is finished.
        rows = self._execute(self._sql[name], values).fetchall()
        return rows[0] if rows else None

    def all(self, name: str, /, **values: Any) -> list[Row]:
        return self._execute(self._sql[name], values).fetchall()

    def page(self, name: str, /, **values: Any) -> list[Row]:
        # sqlite3 lets go of the interpreter at every row, and on a busy server has to wait for it again. As one
        # row of JSON, fifty tasks cost one such wait.
        ((found,),) = self._execute(_as_one_row(name), values).fetchall()
        rows: list[Row] = msgspec.json.decode(found)
        return rows


@cache
def _as_one_row(name: str) -> str:
    """A statement that gives all rows of another as one JSON array."""
    sql = statements.load("sqlite")[name]
    columns = [f"c{number}" for number in range(_column_count(sql))]
    listed = ", ".join(columns)
    return f"WITH page ({listed}) AS ({sql}) SELECT json_group_array(json_array({listed})) FROM page"


def _column_count(sql: str) -> int:
    """How many columns a statement gives: the database itself is asked, with an empty schema of ours."""
    anything = dict.fromkeys(re.findall(r":(\w+)", sql), 0)
    return len(_empty().execute(sql, anything).description)


@cache
def _empty() -> sqlite3.Connection:
    empty = sqlite3.connect(":memory:", check_same_thread=False)
    for script in scripts():
        empty.executescript(script)
    return empty


def connect_writer(path: Path) -> sqlite3.Connection:
    """The one connection that writes: every commit is flushed to the disk before it is answered."""
    try:
        _look_before_touching(path)
        connection = _connect(path)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA wal_autocheckpoint = 4000")
        connection.execute("PRAGMA journal_size_limit = 67108864")
    except sqlite3.Error as error:
        raise translated(error, path) from error
    return connection


def connect_reader(path: Path) -> sqlite3.Connection:
    """A connection that only reads."""
    connection = _connect(path)
    connection.execute("PRAGMA query_only = ON")
    return connection


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=_CACHED_STATEMENTS,
        timeout=10,
    )
    connection.execute("PRAGMA cache_size = -32000")
    connection.execute("PRAGMA temp_store = MEMORY")
    return connection


def _look_before_touching(path: Path) -> None:
    """Leave a database alone that somebody else made, or a newer Maestro, or that can only be read."""
    if not path.exists():
        return
    # A connection that only reads changes nothing, also by closing: what a killed server left beside the database
    # stays there. Where nothing was left, `immutable` keeps SQLite from making files of its own.
    left = path.with_name(f"{path.name}-wal").exists()
    place = f"{path.absolute().as_uri()}?mode=ro{'' if left else '&immutable=1'}"
    with contextlib.closing(sqlite3.connect(place, uri=True)) as connection:
        (application_id,) = connection.execute("PRAGMA application_id").fetchone()
        (changes,) = connection.execute("PRAGMA schema_version").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
    if changes != 0 and application_id != APPLICATION_ID:
        raise errors.StorageFailed(f"{path} is a database, but not one of Maestro's. It was left as it is.")
    refuse_newer(path, version)
    if not os.access(path, os.W_OK):
        raise errors.StorageReadOnly(f"{path} cannot be written.", hint="Check who owns it.")


def refuse_newer(path: Path, version: int) -> None:
    """A database from a newer Maestro is left alone."""
    known = len(scripts())
    if version > known:
        raise errors.StorageTooNew(
            f"{path} was written by a newer Maestro (schema {version}; this one knows {known}). "
            "It was left as it is.",
            hint="Upgrade Maestro, or start with another MAESTRO_HOME.",
            data={"schema": version, "known": known},
        )


def translated(error: sqlite3.Error, path: Path | str) -> errors.MaestroError:
    """What a driver's error means to a caller."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_FULL:
        return errors.StorageFull(hint="Free some space; then the same request can be sent again.")
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        return errors.StorageReadOnly(
            f"{path} cannot be written: {error}.", hint="Check who owns it and whether its disk is read-only."
        )
    if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
        return errors.StorageFailed(
            f"{path} is damaged or not a database: {error}.",
            hint="It was left as it is. See: maestro restore",
        )
    return errors.StorageFailed(f"The database answered: {error}.")
