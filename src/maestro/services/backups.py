"""One file with everything in it: a consistent copy of the database, and the content files it names."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
import tarfile
import tempfile
from datetime import datetime
from pathlib import Path

from maestro import errors
from maestro.domain.callers import Caller
from maestro.operations import server as ops
from maestro.store.base import Store
from maestro.store.blobs import Blobs

DATABASE = "maestro.db"
BLOBS = "blobs"


class Backups:
    """Writes backups while the server works on."""

    def __init__(self, store: Store, blobs: Blobs, home: Path) -> None:
        self._store = store
        self._blobs = blobs
        self._home = home

    async def create(self, caller: Caller, request: ops.Backup) -> ops.BackupDone:
        """The database first, then the files: whatever a row names was there before the row."""
        target = Path(request.file)
        if target.exists():
            raise errors.Conflict(f"{target} is there already; it was left as it is.", hint="Name another file.")
        if not target.parent.is_dir():
            raise errors.NotFound(f"There is no directory {target.parent}.")
        with tempfile.TemporaryDirectory(dir=self._home, prefix="backup-") as folder:
            copy = Path(folder) / DATABASE
            await self._store.backup(copy)
            try:
                blobs = await asyncio.to_thread(self._pack, copy, target)
            except OSError as error:
                raise errors.StorageFailed(f"{target} could not be written: {error.strerror}.") from error
        return ops.BackupDone(file=str(target), bytes=target.stat().st_size, blobs=blobs)

    def _pack(self, database: Path, target: Path) -> int:
        part = target.with_name(f".{target.name}.part")
        files = self._blobs.all()
        try:
            with tarfile.open(part, "w") as archive:
                archive.add(database, DATABASE)
                for file in files:
                    archive.add(file, f"{BLOBS}/{file.parent.name}/{file.name}")
            with part.open("rb") as written:
                os.fsync(written.fileno())
            part.rename(target)
        finally:
            part.unlink(missing_ok=True)
        return len(files)


def restore(home: Path, archive: Path, *, at: datetime, known_schema: int) -> Path | None:
    """Put a backup in place of the data there is, which is kept aside. Where it was kept, if there was any.

    Nothing is touched before the backup was unpacked and found sound.
    """
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    with tempfile.TemporaryDirectory(dir=home, prefix="restore-") as folder:
        fresh = Path(folder)
        _unpack(archive, fresh)
        _check(fresh / DATABASE, known_schema)
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


def _check(database: Path, known_schema: int) -> None:
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
    if schema > known_schema:
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
