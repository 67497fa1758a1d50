"""Backups: a single archive with a consistent copy of the database and the blob files that its rows name."""

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
from maestro.store.health import StorageHealth
from maestro.store.layout import DATABASE
from maestro.system.small_files import flush_folder

_ARCHIVE = "backup.tar"


class Backups:
    """Writes backups while the server runs."""

    def __init__(self, store: Store, blobs: Blobs, health: StorageHealth) -> None:
        self._store = store
        self._blobs = blobs
        self._health = health

    async def create_backup(self, caller: Caller, request: ops.CreateBackup) -> ops.BackupResult:
        """Write a backup archive.

        Copies the database before the blob files: every blob was stored before the row that names it, so the archive
        has all named blobs.
        """
        target = Path(request.file)
        require_free_target(target)
        if not request.allow_missing:
            self._health.require_no_lost_events()
        with temporary_folder_beside(target) as folder, self._blobs.prevent_removal():
            copy = folder / DATABASE
            await self._store.backup(copy)
            return await asyncio.to_thread(
                pack_and_verify,
                copy,
                self._blobs,
                target,
                checks=self._store.checks,
                allow_missing=request.allow_missing,
            )


def require_free_target(target: Path) -> None:
    """Refuse a target file that exists, or a target in a missing directory."""
    try:
        exists, has_directory = target.exists(), target.parent.is_dir()
    except OSError as error:  # a name that is too long
        raise errors.Invalid(
            f"The backup file {target} cannot be created: {error.strerror}.", hint="Choose another file name."
        ) from error
    if exists:
        raise errors.Conflict(f"{target} already exists and was not changed.", hint="Choose another file name.")
    if not has_directory:
        raise errors.NotFound(
            f"There is no directory {target.parent}.", hint="Create the directory, or choose another directory."
        )


@contextlib.contextmanager
def temporary_folder_beside(target: Path) -> Iterator[Path]:
    """Create a temporary folder beside the target, and remove the folder at the end.

    The folder is not in the data directory, because the data directory may be full or read-only.
    """
    try:
        folder = tempfile.TemporaryDirectory(dir=target.parent, prefix=".maestro-backup-")
    except OSError as error:
        raise errors.storage_fault(error, f"{target.parent} cannot be written") from error
    with folder as name:
        yield Path(name)


def pack_and_verify(
    copy: Path, blobs: Blobs, target: Path, *, checks: CopyChecks, allow_missing: bool = False
) -> ops.BackupResult:
    """Pack a copy of the database with its blobs, verify the archive, and move the archive to the target.

    A failure leaves no file at the target.
    """
    archive_path = copy.with_name(_ARCHIVE)
    try:
        files = archive.pack_archive(archive_path, copy, blobs, checks.named_blobs(copy))
        started_at = time.monotonic()
        checks.require_sound(copy)
        archive.verify_archive(archive_path, copy, files)
        if not allow_missing:
            files.require_all_sound()
        verification_ms = (time.monotonic() - started_at) * 1000
        archive_path.rename(target)
        flush_folder(target.parent)
        size = target.stat().st_size
    except OSError as error:
        raise errors.storage_fault(error, f"{target} cannot be written") from error
    return ops.BackupResult(
        file=str(target),
        bytes=size,
        blobs=files.packed,
        verification_ms=round(verification_ms, 1),
        missing=files.missing,
        damaged=files.damaged,
    )
