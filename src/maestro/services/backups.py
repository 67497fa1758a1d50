"""One file with everything in it: a consistent copy of the database, and the content files it names."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from maestro.core import errors
from maestro.domain.callers import Caller
from maestro.operations import server as ops
from maestro.store import archive
from maestro.store.base import CopyChecks, Store
from maestro.store.blobs import Blobs
from maestro.store.health import Health
from maestro.store.layout import DATABASE
from maestro.system.small_files import flush_folder

_ARCHIVE = "backup.tar"


class Backups:
    """Writes backups while the server works on."""

    def __init__(self, store: Store, blobs: Blobs, health: Health) -> None:
        self._store = store
        self._blobs = blobs
        self._health = health

    async def create(self, caller: Caller, request: ops.Backup) -> ops.BackupDone:
        """The database first, then the files: whatever a row names was there before the row."""
        target = Path(request.file)
        require_free(target)
        if not request.allow_missing:
            self._health.require_no_loss()
        with workshop_beside(target) as folder, self._blobs.being_copied():
            copy = folder / DATABASE
            await self._store.backup(copy)
            return await asyncio.to_thread(
                finish, copy, self._blobs, target, checks=self._store.checks, allow_missing=request.allow_missing
            )


def require_free(target: Path) -> None:
    """Refuse a target that exists, or whose directory does not."""
    try:
        taken, has_place = target.exists(), target.parent.is_dir()
    except OSError as error:  # a name that is too long
        raise errors.Invalid(f"{target} cannot be made: {error.strerror}.") from error
    if taken:
        raise errors.Conflict(f"{target} is there already; it was left as it is.", hint="Name another file.")
    if not has_place:
        raise errors.NotFound(f"There is no directory {target.parent}.")


@contextlib.contextmanager
def workshop_beside(target: Path) -> Iterator[Path]:
    """Make a folder on the target's disk, and remove it at the end: the data directory may be full or read-only."""
    try:
        folder = tempfile.TemporaryDirectory(dir=target.parent, prefix=".maestro-backup-")
    except OSError as error:
        raise errors.storage_fault(error, f"{target.parent} cannot be written") from error
    with folder as name:
        yield Path(name)


def finish(
    copy: Path, blobs: Blobs, target: Path, *, checks: CopyChecks, allow_missing: bool = False
) -> ops.BackupDone:
    """Pack a copy of the database with its files, verify the result and put it in place, or leave nothing."""
    part = copy.with_name(_ARCHIVE)
    try:
        files = archive.pack(part, copy, blobs, checks.named_blobs(copy))
        began = time.monotonic()
        checks.require_sound(copy)
        archive.verify(part, copy, files)
        if not allow_missing:
            files.require_all()
        verification_ms = (time.monotonic() - began) * 1000
        part.rename(target)
        flush_folder(target.parent)
        size = target.stat().st_size
    except OSError as error:
        raise errors.storage_fault(error, f"{target} cannot be written") from error
    return ops.BackupDone(
        file=str(target),
        bytes=size,
        blobs=files.packed,
        verification_ms=round(verification_ms, 1),
        missing=files.missing,
        damaged=files.damaged,
    )
