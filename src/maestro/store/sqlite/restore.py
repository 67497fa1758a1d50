"""Puts a backup in place of the data there is. Runs only while no server holds the data directory."""

from __future__ import annotations

import contextlib
import sqlite3
import tarfile
import tempfile
from datetime import datetime
from pathlib import Path

from maestro import errors
from maestro.store.layout import BLOBS, DATABASE
from maestro.store.sqlite.steps import scripts


def restore(home: Path, archive: Path, *, at: datetime) -> Path | None:
    """Put a backup in place of the data there is, which is kept aside. Where it was kept, if there was any.

    Nothing is touched before the backup was unpacked and found sound.
    """
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    with tempfile.TemporaryDirectory(dir=home, prefix="restore-") as folder:
        fresh = Path(folder)
        _unpack(archive, fresh)
        _check(fresh / DATABASE)
        aside = _set_aside(home, at)
        (fresh / DATABASE).rename(home / DATABASE)
        if (fresh / BLOBS).is_dir():
            (fresh / BLOBS).rename(home / BLOBS)
    return aside


def _unpack(archive: Path, folder: Path) -> None:
    try:
        with tarfile.open(archive, "r") as packed:
            packed.extractall(folder, filter="data")
    except (OSError, tarfile.TarError) as error:
        raise errors.Invalid(f"{archive} is not a backup that can be read: {error}.") from error


def _check(database: Path) -> None:
    if not database.is_file():
        raise errors.Invalid("The file holds no Maestro database.")
    try:
        with contextlib.closing(sqlite3.connect(database)) as connection:
            (sound,) = connection.execute("PRAGMA integrity_check").fetchone()
            (schema,) = connection.execute("PRAGMA user_version").fetchone()
    except sqlite3.Error as error:
        raise errors.Invalid(f"The backup's database is damaged: {error}.") from error
    if sound != "ok":
        raise errors.Invalid(f"The backup's database is damaged: {sound}.")
    if schema > len(scripts()):
        raise errors.StorageTooNew(f"The backup is from a newer Maestro (schema {schema}).")


def _set_aside(home: Path, at: datetime) -> Path | None:
    there = [home / name for name in (DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm", BLOBS)]
    there = [path for path in there if path.exists()]
    if not there:
        return None
    aside = home / f"before-restore-{at:%Y%m%d-%H%M%S}"
    aside.mkdir()
    for path in there:
        path.rename(aside / path.name)
    return aside
