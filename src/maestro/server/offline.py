"""Back up a data directory without a server. A server cannot start on a full disk or in a read-only directory."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from maestro.core import errors
from maestro.operations import server as ops
from maestro.services import backups
from maestro.store.blobs import Blobs
from maestro.store.health import StorageHealth, find_lost_events
from maestro.store.layout import BLOBS, DATABASE, LOCK, MARK
from maestro.store.mark import Mark
from maestro.store.sqlite import checks, replacement
from maestro.store.sqlite.connection import translate_error


def back_up_offline(home: Path, target: Path, *, allow_missing: bool) -> ops.BackupResult:
    """Write a backup of a data directory that no server uses, without writing into the directory."""
    backups.require_free_target(target)
    with _without_server(home), backups.temporary_folder_beside(target) as folder:
        replacement.refuse_unfinished_replacement(home)
        copy = folder / DATABASE
        _copy_database(home, copy)
        if not allow_missing:
            _require_no_loss(home, copy)
        return backups.pack_and_verify(copy, Blobs(home / BLOBS), target, checks=checks, allow_missing=allow_missing)


def _require_no_loss(home: Path, copy: Path) -> None:
    """Refuse a store that has lost events: it is behind its mark, or has a recorded loss that is not accepted."""
    StorageHealth(home).require_no_lost_events()
    lost = find_lost_events(checks.last_event_seq(copy), Mark(home / MARK).read())
    if lost is not None:
        raise errors.StorageDamaged(lost.text, hint="Back up without these events: --allow-missing")


@contextlib.contextmanager
def _without_server(home: Path) -> Iterator[None]:
    """Keep servers out of the data directory during the backup.

    The lock file is opened for reading, because the directory may be read-only. A shared lock keeps servers out.
    """
    try:
        descriptor = os.open(home / LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        yield  # no server has ever used the directory
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise errors.DataInUse(
            f"Another process uses {home}.", hint="Try again: a running server then writes the backup itself."
        ) from error
    finally:
        os.close(descriptor)


def _copy_database(home: Path, copy: Path) -> None:
    """Copy the database with its write-ahead log, and move the log's content into the copy."""
    write_ahead_log = f"{DATABASE}-wal"
    try:
        shutil.copyfile(home / DATABASE, copy)
        if (home / write_ahead_log).exists():
            shutil.copyfile(home / write_ahead_log, copy.with_name(write_ahead_log))
    except FileNotFoundError as error:
        raise errors.NotFound(f"{home} contains no database.") from error
    except OSError as error:
        raise errors.storage_fault(error, f"The database cannot be copied to {copy.parent.parent}") from error
    try:
        with contextlib.closing(sqlite3.connect(copy)) as connection:
            connection.execute("PRAGMA journal_mode = DELETE")
    except sqlite3.Error as error:
        raise translate_error(error, home / DATABASE) from error
