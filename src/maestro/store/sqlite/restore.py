"""Replace the data of a data directory by a backup. Runs only while no server holds the data directory."""

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
from maestro.store.archive import ArchivedFiles
from maestro.store.blobs import Blobs
from maestro.store.layout import BLOBS, DATABASE, MARK
from maestro.store.mark import Mark
from maestro.store.sqlite import replacement
from maestro.store.sqlite.checks import last_event_seq, named_blobs
from maestro.store.sqlite.migration_scripts import migration_scripts

_EXPECTED = re.compile(rf"{DATABASE}|{BLOBS}/[0-9a-f]{{2}}/[0-9a-f]{{64}}")


@dataclass(frozen=True)
class RestoreResult:
    """The result of a restore: the folder with the earlier data, if any, and the missing and damaged files."""

    aside: Path | None
    files: ArchivedFiles


def restore_backup(home: Path, archive: Path, *, at: datetime, allow_missing: bool = False) -> RestoreResult:
    """Replace the data by a backup, and keep the earlier data in a folder of its own.

    No data is changed before the backup was unpacked and checked.
    """
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    replacement.finish_replacement(home)
    with tempfile.TemporaryDirectory(dir=home, prefix=replacement.UNPACKED_PREFIX) as folder:
        fresh = Path(folder)
        _unpack(archive, fresh)
        _check_database(fresh / DATABASE)
        files = _check_files(fresh)
        if not allow_missing:
            files.require_all_sound()
        Mark(fresh / MARK).write(last_event_seq(fresh / DATABASE))
        aside = _unused_folder(home, f"before-restore-{at:%Y%m%d-%H%M%S}")
        replacement.replace_store(home, fresh, aside)
    return RestoreResult(_drop_if_empty(aside), files)


def _unused_folder(home: Path, wanted: str) -> Path:
    """Return the path of a folder that does not exist yet: two restores may run within one second."""
    names = itertools.chain([wanted], (f"{wanted}-{number}" for number in itertools.count(2)))
    return next(folder for name in names if not (folder := home / name).exists())


def _drop_if_empty(aside: Path) -> Path | None:
    """Return the folder with the earlier data. Remove an empty folder and return None: no earlier data existed."""
    if any(aside.iterdir()):
        return aside
    aside.rmdir()
    return None


def _check_files(fresh: Path) -> ArchivedFiles:
    """Compare every content file that the database names with its hash."""
    files = ArchivedFiles()
    blobs = Blobs(fresh / BLOBS)
    for name in named_blobs(fresh / DATABASE):
        try:
            blobs.read_file(name)
        except errors.FileMissing:
            files.missing.append(name)
        except errors.FileDamaged:
            files.damaged.append(name)
    return files


def _unpack(archive: Path, folder: Path) -> None:
    """Unpack the database and the content files. Skip all other files of the archive."""
    try:
        with tarfile.open(archive, "r") as packed:
            for member in packed:
                source = packed.extractfile(member) if member.isreg() and _EXPECTED.fullmatch(member.name) else None
                if source is not None:
                    _write_file(folder / member.name, source)
    except FileNotFoundError as error:
        raise errors.NotFound(f"There is no file {archive}.") from error
    except tarfile.TarError as error:
        raise errors.Invalid(f"{archive} is not a backup.") from error
    except OSError as error:
        raise errors.storage_fault(error, f"{archive} cannot be unpacked") from error


def _write_file(target: Path, source: IO[bytes]) -> None:
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with target.open("wb") as out:
        shutil.copyfileobj(source, out)
        out.flush()
        os.fsync(out.fileno())
    target.chmod(0o600)


def _check_database(database: Path) -> None:
    if not database.is_file():
        raise errors.Invalid("The file holds no Maestro database.")
    try:
        with contextlib.closing(sqlite3.connect(database)) as connection:
            (result,) = connection.execute("PRAGMA integrity_check").fetchone()
            (schema,) = connection.execute("PRAGMA user_version").fetchone()
    except sqlite3.Error as error:
        raise errors.Invalid(f"The backup's database is damaged: {error}.") from error
    if result != "ok":
        raise errors.Invalid(f"The backup's database is damaged: {result}.")
    if schema > len(migration_scripts()):
        raise errors.StorageTooNew(
            f"The backup is from a newer Maestro (schema {schema}).", hint="Upgrade Maestro, then restore again."
        )
