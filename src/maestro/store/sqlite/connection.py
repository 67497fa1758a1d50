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

from maestro.core import errors
from maestro.store import statements
from maestro.store.rows import Row
from maestro.store.sqlite.steps import scripts

APPLICATION_ID = 0x4D_41_45_53  # "MAES"
_CACHED_STATEMENTS = 512
# What the driver raises, and what decoding a stored value raises when the value is not what Maestro wrote.
STORAGE_ERRORS = (sqlite3.Error, msgspec.DecodeError, UnicodeDecodeError)
_NUL, _REPLACEMENT = "\0", "\ufffd"
# Earlier versions stored NUL characters of programs' output. No text encoding ends a text with more than three.
_NULS_OF_DAMAGE = _NUL * 4
_NULS_OF_DAMAGE_IN_JSON = "\\u0000" * 4 + '"'
_UNDECODABLE = "Could not decode to UTF-8"
_PARAMETER = re.compile(r":(\w+)")
_OWN_VALUES = frozenset(
    {"id", "at", "seq", "message_seq", "box", "blob", "bytes", "hops", "attachments", "version"}
    | {"status", "type", "kind", "priority", "scope", "sender_kind"}
)


class DamagedText(sqlite3.DatabaseError):
    """A stored text that Maestro cannot have written."""


class SqliteRows:
    """A connection that runs statements by name, and stores no NUL characters.

    SQLite cannot see that the last overflow page of a row was zeroed. The texts from there on then end with NUL
    characters. `checks_texts`: refuse such rows. The writer does so only in a second attempt: every write would pay.
    """

    def __init__(self, connection: sqlite3.Connection, *, checks_texts: bool = False) -> None:
        self.checks_texts = checks_texts
        self._execute = connection.execute
        self._execute_many = connection.executemany
        self._sql = statements.load("sqlite")

    def run(self, name: str, /, **values: Any) -> int:
        return self._execute(self._sql[name], _replace_nuls(name, values)).rowcount

    def many(self, name: str, sets: Sequence[Mapping[str, Any]], /) -> None:
        self._execute_many(self._sql[name], [_replace_nuls(name, values) for values in sets])

    def one(self, name: str, /, **values: Any) -> Row | None:
        # All rows are fetched, so that a statement that also writes (RETURNING) is finished.
        rows = self.all(name, **values)
        return rows[0] if rows else None

    def all(self, name: str, /, **values: Any) -> list[Row]:
        rows = self._execute(self._sql[name], _replace_nuls(name, values)).fetchall()
        if self.checks_texts:
            _refuse_nuls(rows)
        return rows

    def page(self, name: str, /, **values: Any) -> list[Row]:
        # sqlite3 lets go of the interpreter at every row, and on a busy server has to wait for it again. As one
        # row of JSON, fifty tasks cost one such wait.
        ((found,),) = self._execute(_as_one_row(name), _replace_nuls(name, values)).fetchall()
        rows: list[Row] = msgspec.json.decode(found)
        if self.checks_texts and _NULS_OF_DAMAGE_IN_JSON in found:
            _refuse_nuls(rows)
        return rows


def _replace_nuls(statement: str, values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the values of a statement without NUL characters in texts; the same values if there are none."""
    for name in _text_parameters(statement):
        value = values[name]
        if value.__class__ is str and _NUL in value:
            return {name: _replace_nuls_in(value) for name, value in values.items()}
    return values


@cache
def _text_parameters(statement: str) -> tuple[str, ...]:
    """Return the parameters of a statement that may hold texts of others.

    Ids, times and states are Maestro's own: to look at them in every statement would cost more than the rest of the
    look. Statements that read are looked at too: what was stored with a replacement must be found again.
    """
    names = dict.fromkeys(_PARAMETER.findall(statements.load("sqlite")[statement]))
    return tuple(name for name in names if name not in _OWN_VALUES and not name.endswith(("_id", "_at")))


def _replace_nuls_in(value: Any) -> Any:
    return value.replace(_NUL, _REPLACEMENT) if value.__class__ is str else value


def _refuse_nuls(rows: Sequence[Row]) -> None:
    for row in rows:
        for value in row:
            if value.__class__ is str and value.endswith(_NULS_OF_DAMAGE):
                raise DamagedText("a stored text ends with NUL characters")


@cache
def _as_one_row(name: str) -> str:
    """A statement that gives all rows of another as one JSON array."""
    sql = statements.load("sqlite")[name]
    columns = [f"c{number}" for number in range(_column_count(sql))]
    listed = ", ".join(columns)
    return f"WITH page ({listed}) AS ({sql}) SELECT json_group_array(json_array({listed})) FROM page"


def _column_count(sql: str) -> int:
    """How many columns a statement gives: the database itself is asked, with an empty schema of ours."""
    anything = dict.fromkeys(_PARAMETER.findall(sql), 0)
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
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # of a new database; an old one needs a VACUUM
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


def translated(error: Exception, path: Path | str) -> errors.StorageFailed:
    """Return what one of `STORAGE_ERRORS` means to a caller."""
    if not isinstance(error, sqlite3.Error):
        return errors.StorageDamaged(f"{path} holds a damaged value: {error}.", hint=errors.DAMAGE_HINT)
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_FULL:
        return errors.StorageFull(hint="Free some space; then the same request can be sent again.")
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        return errors.StorageReadOnly(
            f"{path} cannot be written: {error}.", hint="Check who owns it and whether its disk is read-only."
        )
    # Python's driver raises an error without a code for text that is not UTF-8. Maestro stores no such text.
    is_damaged_text = isinstance(error, DamagedText) or _UNDECODABLE in str(error)
    if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT) or is_damaged_text:
        return errors.StorageDamaged(f"{path} is damaged or not a database: {error}.", hint=errors.DAMAGE_HINT)
    if code == sqlite3.SQLITE_IOERR:
        return errors.StorageIOFailed(f"{path}: {error}.", hint=errors.IO_HINT)
    return errors.StorageFailed(f"The database answered: {error}.")
