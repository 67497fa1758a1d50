"""Open a SQLite database, run named statements, and translate SQLite's errors into Maestro's."""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from maestro.core import errors
from maestro.store import statements
from maestro.store.decoding import Decoder, Row
from maestro.store.sqlite.migration_scripts import migration_scripts, present_schema

T = TypeVar("T")
APPLICATION_ID = 0x4D_41_45_53  # "MAES"
_CACHED_STATEMENTS = 512
# The errors of the driver, and the errors of decoding a stored value that Maestro did not write.
STORAGE_ERRORS = (sqlite3.Error, msgspec.DecodeError, UnicodeDecodeError)
_NUL, _REPLACEMENT = "\0", "\ufffd"
# Earlier versions stored NUL characters of programs' output. No text encoding ends a text with more than three.
_NULS_OF_DAMAGE = _NUL * 4
_NULS_OF_DAMAGE_IN_JSON = "\\u0000" * 4 + '"'
_UNDECODABLE = "Could not decode to UTF-8"
_PARAMETER = re.compile(r":(\w+)")
_PARAMETERS_WITHOUT_TEXT = frozenset(
    {"id", "at", "seq", "message_seq", "mailbox", "blob", "bytes", "hops", "attachments", "version"}
    | {"status", "type", "kind", "priority", "scope", "sender_kind"}
)


class DamagedText(sqlite3.DatabaseError):
    """A stored text that Maestro cannot have written."""


class SqliteRows:
    """A connection that runs statements by name, and stores no NUL characters.

    SQLite does not notice a zeroed last overflow page of a row; the texts on the page then end with NUL characters.
    `checks_texts`: refuse rows with such texts. The writer checks only in a second attempt, to keep writes fast.
    """

    def __init__(self, connection: sqlite3.Connection, *, checks_texts: bool = False) -> None:
        self.checks_texts = checks_texts
        self._execute = connection.execute
        self._execute_many = connection.executemany
        self._sql = statements.load("sqlite")

    def execute(self, name: str, /, **values: Any) -> int:
        return self._execute(self._sql[name], _replace_nuls(name, values)).rowcount

    def execute_many(self, name: str, sets: Sequence[Mapping[str, Any]], /) -> None:
        self._execute_many(self._sql[name], [_replace_nuls(name, values) for values in sets])

    def fetch_first(self, name: str, decoder: Decoder[T], /, **values: Any) -> T | None:
        rows = self._fetch_rows(name, values)
        return _row_function(name, decoder)(rows[0]) if rows else None

    def fetch_all(self, name: str, decoder: Decoder[T], /, **values: Any) -> list[T]:
        rows = self._fetch_rows(name, values)
        return list(map(_row_function(name, decoder), rows)) if rows else []

    def fetch_page(self, name: str, decoder: Decoder[T], /, **values: Any) -> list[T]:
        # sqlite3 releases the interpreter lock at every row, and on a busy server has to wait for the lock again.
        # As one row of JSON, fifty tasks cost a single wait.
        ((page,),) = self._execute(_json_statement(name), _replace_nuls(name, values)).fetchall()
        rows: list[Row] = msgspec.json.decode(page)
        if self.checks_texts and _NULS_OF_DAMAGE_IN_JSON in page:
            _refuse_nuls(rows)
        return list(map(_row_function(name, decoder), rows)) if rows else []

    def fetch_value(self, name: str, /, **values: Any) -> Any:
        rows = self._fetch_rows(name, values)
        (value,) = rows[0] if rows else (None,)
        return value

    def fetch_values(self, name: str, /, **values: Any) -> list[Any]:
        return [value for (value,) in self._fetch_rows(name, values)]

    def has_row(self, name: str, /, **values: Any) -> bool:
        return bool(self._fetch_rows(name, values))

    def _fetch_rows(self, name: str, values: Mapping[str, Any]) -> list[Row]:
        # Always fetch all rows: only then is a statement that also writes (RETURNING) finished.
        rows = self._execute(self._sql[name], _replace_nuls(name, values)).fetchall()
        if self.checks_texts:
            _refuse_nuls(rows)
        return rows


def _replace_nuls(statement: str, values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the values of a statement with NUL characters in texts replaced."""
    for name in _text_parameters(statement):
        value = values[name]
        if value.__class__ is str and _NUL in value:
            return {name: _replace_nuls_in(value) for name, value in values.items()}
    return values


@cache
def _text_parameters(statement: str) -> tuple[str, ...]:
    """Return the parameters of a statement that may hold texts from outside of Maestro.

    Ids, times and states come from Maestro itself: checking them too in every statement would more than double the
    cost. Statements that read are checked as well: a text stored with a replacement must be found again.
    """
    names = dict.fromkeys(_PARAMETER.findall(statements.load("sqlite")[statement]))
    return tuple(name for name in names if name not in _PARAMETERS_WITHOUT_TEXT and not name.endswith(("_id", "_at")))


def _replace_nuls_in(value: Any) -> Any:
    return value.replace(_NUL, _REPLACEMENT) if value.__class__ is str else value


def _refuse_nuls(rows: Sequence[Row]) -> None:
    for row in rows:
        for value in row:
            if value.__class__ is str and value.endswith(_NULS_OF_DAMAGE):
                raise DamagedText("a stored text ends with NUL characters")


@cache
def _row_function(name: str, decoder: Decoder[T]) -> Callable[[Row], T]:
    """Return the function that decodes the rows of a statement."""
    return decoder.for_columns(column_names(name))


@cache
def _json_statement(name: str) -> str:
    """Return a statement that returns all rows of a named statement as a single JSON array."""
    listed = ", ".join(f"c{number}" for number in range(len(column_names(name))))
    sql = statements.load("sqlite")[name]
    return f"WITH page ({listed}) AS ({sql}) SELECT json_group_array(json_array({listed})) FROM page"


@cache
def column_names(name: str) -> tuple[str, ...]:
    """Return the column names of a statement's rows. SQLite tells the names when it runs on an empty database."""
    sql = statements.load("sqlite")[name]
    values = dict.fromkeys(_PARAMETER.findall(sql), 0)
    description = _empty_database().execute(sql, values).description
    return tuple(column for column, *_ in description or ())


@cache
def _empty_database() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    connection.executescript(present_schema())
    return connection


def connect_writer(path: Path) -> sqlite3.Connection:
    """Open the one connection that writes. Every commit is flushed to the disk before the caller gets an answer."""
    try:
        _refuse_unsuitable(path)
        connection = _connect(path)
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # for a new database; an old one needs a VACUUM
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA wal_autocheckpoint = 4000")
        connection.execute("PRAGMA journal_size_limit = 67108864")
    except sqlite3.Error as error:
        raise translate_error(error, path) from error
    return connection


def connect_reader(path: Path) -> sqlite3.Connection:
    """Open a connection that only reads."""
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


def _refuse_unsuitable(path: Path) -> None:
    """Refuse a database of another program, of a newer Maestro, or without write permission. Changes no file."""
    if not path.exists():
        return
    # A connection that only reads changes no file, not even when it closes: the write-ahead log of a killed server
    # stays. Without a write-ahead log, `immutable` keeps SQLite from creating files.
    has_log = path.with_name(f"{path.name}-wal").exists()
    uri = f"{path.absolute().as_uri()}?mode=ro{'' if has_log else '&immutable=1'}"
    with contextlib.closing(sqlite3.connect(uri, uri=True)) as connection:
        (application_id,) = connection.execute("PRAGMA application_id").fetchone()
        (schema_changes,) = connection.execute("PRAGMA schema_version").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
    if schema_changes != 0 and application_id != APPLICATION_ID:
        raise errors.StorageFailed(
            f"{path} is a database of another program. Maestro did not change the file.",
            hint="Move the file away, or start with another MAESTRO_HOME.",
        )
    refuse_newer_schema(path, version)
    if not os.access(path, os.W_OK):
        raise errors.StorageReadOnly(f"{path} cannot be written.", hint="Check the owner of the file.")


def refuse_newer_schema(path: Path, version: int) -> None:
    """Refuse a database with a newer schema than this version of Maestro knows."""
    known = len(migration_scripts())
    if version > known:
        raise errors.StorageTooNew(
            f"{path} was written by a newer Maestro (schema {version}; this version knows schema {known}). "
            "The database was not changed.",
            hint="Upgrade Maestro, or start with another MAESTRO_HOME.",
            data={"schema": version, "known": known},
        )


def translate_error(error: Exception, path: Path | str) -> errors.StorageFailed:
    """Return the Maestro error for one of `STORAGE_ERRORS`."""
    if not isinstance(error, sqlite3.Error):
        return errors.StorageDamaged(f"{path} holds a damaged value: {error}.", hint=errors.DAMAGE_HINT)
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_FULL:
        return errors.StorageFull(hint="Free some space on the disk, then send the same request again.")
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        return errors.StorageReadOnly(
            f"{path} cannot be written: {error}.",
            hint="Check the owner of the file, and whether the disk is read-only.",
        )
    # Python's driver raises an error without a code for text that is not UTF-8. Maestro stores no such text.
    is_damaged_text = isinstance(error, DamagedText) or _UNDECODABLE in str(error)
    if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT) or is_damaged_text:
        return errors.StorageDamaged(f"{path} is damaged or not a database: {error}.", hint=errors.DAMAGE_HINT)
    if code == sqlite3.SQLITE_IOERR:
        return errors.StorageIOFailed(f"{path}: {error}.", hint=errors.IO_HINT)
    return errors.StorageFailed(f"The database {path} failed: {error}.")
