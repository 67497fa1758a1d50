"""Replace the store of a data directory by an unpacked backup, whole or not at all, even if the process is killed.

A note in the data directory (`REPLACEMENT`) decides which store is valid: the old store before the note is written,
the new store afterwards. The next process that opens the data directory finishes the replacement, and removes
unpacked backups that no note names.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec

from maestro.core import errors
from maestro.store.layout import BLOBS, DATABASE, HEALTH, MARK, REPLACEMENT
from maestro.system import small_files

UNPACKED_PREFIX = "restore-"  # the prefix of the names of folders with unpacked backups
_DATABASE_FILES = (DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm")


class _Note(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The folder with the unpacked backup, and the folder that gets the old store."""

    unpacked: str
    aside: str


def replace_store(home: Path, unpacked: Path, aside: Path) -> None:
    """Move the store to `aside`, and the unpacked backup to the location of the store."""
    (unpacked / BLOBS).mkdir(exist_ok=True)  # a backup without content files replaces them too
    _flush_tree(unpacked)
    aside.mkdir()
    small_files.flush_folder(home)
    note = msgspec.json.encode(_Note(unpacked.name, aside.name)).decode()
    small_files.write_durably(home / REPLACEMENT, note)
    finish_replacement(home)


def finish_replacement(home: Path) -> None:
    """Finish an interrupted replacement, and remove the unpacked backups of other restores.

    The caller must hold the lock of the data directory.
    """
    note = _read_note(home)
    if note is not None:
        _move_files(home, home / note.unpacked, home / note.aside)
        (home / REPLACEMENT).unlink()
        small_files.flush_folder(home)
    for folder in home.glob(f"{UNPACKED_PREFIX}*"):
        shutil.rmtree(folder, ignore_errors=True)


def refuse_unfinished_replacement(home: Path) -> None:
    """Refuse a data directory with an interrupted replacement."""
    if (home / REPLACEMENT).exists():
        raise errors.Conflict(
            f"A restore into {home} was interrupted.", hint="Start the server: it finishes the restore first."
        )


def _read_note(home: Path) -> _Note | None:
    try:
        return msgspec.json.decode((home / REPLACEMENT).read_bytes(), type=_Note)
    except FileNotFoundError:
        return None
    except msgspec.DecodeError as error:
        raise errors.StorageFailed(
            f"{home / REPLACEMENT} cannot be read: {error}.", hint="Restore the backup again."
        ) from error


def _move_files(home: Path, unpacked: Path, aside: Path) -> None:
    """Move the old store aside and the new one in place. An interrupted call may have done some steps already.

    The database is moved last: as long as the unpacked database exists, the database in place is the old one. Folders
    are flushed before the database moves, so that SQLite never opens the new database with an old
    write-ahead log.
    """
    if not (unpacked / DATABASE).exists():
        return
    new_names = [name for name in (BLOBS, MARK) if (unpacked / name).exists()]
    old_names = [*_DATABASE_FILES, HEALTH, *new_names]
    for name in old_names:
        if (home / name).exists():
            (home / name).rename(aside / name)
    small_files.flush_folder(aside)
    for name in new_names:
        (unpacked / name).rename(home / name)
    small_files.flush_folder(home)
    (unpacked / DATABASE).rename(home / DATABASE)
    small_files.flush_folder(home)


def _flush_tree(root: Path) -> None:
    """Flush the names of all files below a folder. The contents were flushed when the files were written."""
    for folder in (path for path in root.rglob("*") if path.is_dir()):
        small_files.flush_folder(folder)
    small_files.flush_folder(root)
