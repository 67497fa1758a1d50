"""One file with everything in it: a consistent copy of the database, and the content files it names."""

from __future__ import annotations

import asyncio
import contextlib
import os
import tarfile
import tempfile
from pathlib import Path

from maestro import errors
from maestro.domain.callers import Caller
from maestro.operations import server as ops
from maestro.store.base import Store
from maestro.store.blobs import Blobs
from maestro.store.layout import BLOBS, DATABASE


class Backups:
    """Writes backups while the server works on."""

    def __init__(self, store: Store, blobs: Blobs, home: Path) -> None:
        self._store = store
        self._blobs = blobs
        self._home = home

    async def create(self, caller: Caller, request: ops.Backup) -> ops.BackupDone:
        """The database first, then the files: whatever a row names was there before the row."""
        target = Path(request.file)
        try:
            taken, has_place = target.exists(), target.parent.is_dir()
        except OSError as error:  # a name that is too long
            raise errors.Invalid(f"{target} cannot be made: {error.strerror}.") from error
        if taken:
            raise errors.Conflict(f"{target} is there already; it was left as it is.", hint="Name another file.")
        if not has_place:
            raise errors.NotFound(f"There is no directory {target.parent}.")
        with self._workshop() as folder:
            copy = Path(folder) / DATABASE
            await self._store.backup(copy)
            try:
                blobs = await asyncio.to_thread(self._pack, copy, target)
            except OSError as error:
                raise errors.storage_fault(error, f"{target} cannot be written") from error
        return ops.BackupDone(file=str(target), bytes=target.stat().st_size, blobs=blobs)

    def _workshop(self) -> tempfile.TemporaryDirectory[str]:
        try:
            return tempfile.TemporaryDirectory(dir=self._home, prefix="backup-")
        except OSError as error:
            raise errors.storage_fault(error, f"{self._home} cannot be written") from error

    def _pack(self, database: Path, target: Path) -> int:
        part = target.with_name(f".{target.name}.part")
        count = 0
        try:
            descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "wb") as out:
                with tarfile.open(fileobj=out, mode="w") as archive:
                    archive.add(database, DATABASE)
                    for file in self._blobs.all():
                        with contextlib.suppress(FileNotFoundError):  # a stray that was cleared away meanwhile
                            archive.add(file, f"{BLOBS}/{file.parent.name}/{file.name}")
                            count += 1
                out.flush()
                os.fsync(out.fileno())
            part.rename(target)
        finally:
            part.unlink(missing_ok=True)
        return count
