"""Remove content files that no row names: files left by a crash between file and row, or by a deleted task."""

from __future__ import annotations

import asyncio
import itertools
from datetime import datetime, timedelta
from pathlib import Path

from maestro.core import limits
from maestro.core.clock import Clock
from maestro.store.base import Store, Tx
from maestro.store.blobs import Blobs

_EVERY = timedelta(hours=6)
# Younger files may belong to a row that is just being written.
_AGE_SECONDS_MIN = 24 * 3600


class StrayBlobJob:
    """A job that removes unused content files."""

    name = "stray-blobs"

    def __init__(self, store: Store, blobs: Blobs, *, clock: Clock) -> None:
        self._store = store
        self._blobs = blobs
        self._clock = clock
        self._after = ""

    async def run_once(self) -> datetime | None:
        now = self._clock.now()
        before = now.timestamp() - _AGE_SECONDS_MIN
        files = await asyncio.to_thread(self._old_files, before)
        if not files:
            self._after = ""
            return now + _EVERY
        # On the writer, so that no new row can name a file between the check and the removal.
        await self._store.write(lambda tx: self._remove(tx, files, before))
        self._after = files[-1].name
        return now

    def _old_files(self, before: float) -> list[Path]:
        """Return the next batch of files that are old enough, in the order of their names."""
        old = (file for file in self._blobs.all_files() if file.name > self._after and _is_older(file, before))
        return list(itertools.islice(old, limits.job_batch_rows_max))

    def _remove(self, tx: Tx, files: list[Path], before: float) -> None:
        """Remove the files that no hold protects, no row names and no writer has stored again meanwhile."""

        def is_needed(digest: str) -> bool:
            return tx.documents.uses_blob(digest) or not _is_older(self._blobs.path_of(digest), before)

        # While a backup copies files, `discard_unneeded` removes none; the next round removes the files.
        self._blobs.discard_unneeded([file.name for file in files], is_needed)


def _is_older(file: Path, before: float) -> bool:
    try:
        return file.stat().st_mtime < before
    except FileNotFoundError:
        return False
