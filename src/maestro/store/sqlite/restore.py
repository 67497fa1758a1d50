"""Puts a backup in place of the data there is. Runs only while no server holds the data directory."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import shutil
import sqlite3
import tarfile
import tempfile
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO

from maestro.core import errors
from maestro.store.archive import Files
from maestro.store.blobs import Blobs
from maestro.store.layout import BLOBS, DATABASE, MARK
from maestro.store.mark import Mark
from maestro.store.sqlite import replacement
from maestro.store.sqlite.checks import last_event, named_blobs
from maestro.store.sqlite.steps import scripts

_EXPECTED = re.compile(rf"{DATABASE}|{BLOBS}/[0-9a-f]{{2}}/[0-9a-f]{{64}}")


@dataclass(frozen=True)
class Restored:
    """A restore that is done: where the earlier data was kept, if there was any, and the files that are not sound."""

    aside: Path | None
    files: Files


def restore(home: Path, archive: Path, *, at: datetime, allow_missing: bool = False) -> Restored:
    """Put a backup in place of the data there is, which is kept aside.

    Nothing is touched before the backup was unpacked and found sound.
    """
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    replacement.finish(home)
    with tempfile.TemporaryDirectory(dir=home, prefix=replacement.UNPACKED) as folder:
        fresh = Path(folder)
        _unpack(archive, fresh)
        _check(fresh / DATABASE)
        files = _check_files(fresh)
        if not allow_missing:
            files.require_all()
        Mark(fresh / MARK).write(last_event(fresh / DATABASE))
        aside = _free_folder(home, f"before-restore-{at:%Y%m%d-%H%M%S}")
        replacement.replace(home, fresh, aside)
    return Restored(_kept(aside), files)


def _free_folder(home: Path, name: str) -> Path:
    """Return a folder that does not exist yet: two restores may come within one second."""
    names = itertools.chain([name], (f"{name}-{number}" for number in itertools.count(2)))
    return next(folder for one in names if not (folder := home / one).exists())


def _kept(aside: Path) -> Path | None:
    """Return the folder with the earlier data, unless there was none."""
    if any(aside.iterdir()):
        return aside
    aside.rmdir()
    return None


def _check_files(fresh: Path) -> Files:
    """Compare every file that the database names with its hash."""
    files = Files()
    blobs = Blobs(fresh / BLOBS)
    for name in named_blobs(fresh / DATABASE):
        try:
            blobs.read(name)
        except errors.FileMissing:
            files.missing.append(name)
        except errors.FileDamaged:
            files.damaged.append(name)
    return files


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
