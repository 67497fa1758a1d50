"""Puts a backup in place of the data there is. Runs only while no server holds the data directory."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sqlite3
import tarfile
import tempfile
from datetime import datetime
from pathlib import Path
from typing import IO

from maestro import errors
from maestro.store.layout import BLOBS, DATABASE
from maestro.store.sqlite.steps import scripts

_EXPECTED = re.compile(rf"{DATABASE}|{BLOBS}/[0-9a-f]{{2}}/[0-9a-f]{{64}}")


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
    """Only what a backup has: the database and content files, whatever else an archive may hold."""
    try:
        with tarfile.open(archive, "r") as packed:
            for member in packed:
                source = packed.extractfile(member) if member.isreg() and _EXPECTED.fullmatch(member.name) else None
                if source is not None:
                    _write(folder / member.name, source)
    except FileNotFoundError as error:
        raise errors.NotFound(f"There is no file {archive}.") from error
    except tarfile.TarError as error:
        raise errors.Invalid(f"{archive} is not a backup.") from error
    except OSError as error:
        raise errors.storage_fault(error, f"{archive} cannot be unpacked") from error


def _write(target: Path, source: IO[bytes]) -> None:
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with target.open("wb") as out:
        shutil.copyfileobj(source, out)
        out.flush()
        os.fsync(out.fileno())
    target.chmod(0o600)


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
