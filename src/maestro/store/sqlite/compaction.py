"""Compact a database with VACUUM. The file of an earlier version can give free pages back only after a VACUUM."""

from __future__ import annotations

import contextlib
import logging
import sqlite3
from pathlib import Path

from maestro.core import errors, limits
from maestro.store.sqlite.connection import connect_writer, translate_error

log = logging.getLogger(__name__)
_INCREMENTAL = 2


def compact_if_small(connection: sqlite3.Connection, path: Path) -> None:
    """Compact a small database at the server's start. For a large one the client would have to wait too long."""
    if _can_shrink(connection) or path.stat().st_size > limits.compact_at_start_bytes_max:
        return
    try:
        connection.execute("VACUUM")
    except sqlite3.Error as error:  # for example a full disk: the server works without compaction
        log.warning("the database was not compacted: %s", error)


def compact_database(path: Path) -> tuple[int, int]:
    """Compact a database that no server uses; return the size of its file in bytes, before and after."""
    if not path.exists():
        raise errors.NotFound(f"There is no database {path}.")
    before = path.stat().st_size
    with contextlib.closing(connect_writer(path)) as connection:
        try:
            connection.execute("VACUUM")
        except sqlite3.Error as error:
            raise translate_error(error, path) from error
    return before, path.stat().st_size


def _can_shrink(connection: sqlite3.Connection) -> bool:
    (mode,) = connection.execute("PRAGMA auto_vacuum").fetchone()
    return bool(mode == _INCREMENTAL)
