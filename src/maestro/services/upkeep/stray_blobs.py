"""Removes content files that no row names: left by a crash between file and row, or by a deleted task."""

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


class StrayBlobs:
    """Clears out files nobody needs."""

    name = "stray-blobs"

    def __init__(self, store: Store, blobs: Blobs, *, clock: Clock) -> None:
        self._store = store
        self._blobs = blobs
        self._clock = clock
        self._after = ""

    async def run_once(self) -> datetime | None:
        now = self._clock.now()
        before = now.timestamp() - _AGE_SECONDS_MIN
        files = await asyncio.to_thread(self._old, before)
        if not files:
            self._after = ""
            return now + _EVERY
        # On the writer, so that no row can come to name a file between the look and the removal.
        await self._store.write(lambda tx: self._remove(tx, files, before))
        self._after = files[-1].name
        return now

    def _old(self, before: float) -> list[Path]:
        """The next batch of files that are old enough, in the order of their names."""
        found = (file for file in self._blobs.all() if file.name > self._after and _is_older(file, before))
        return list(itertools.islice(found, limits.upkeep_batch_rows_max))

    def _remove(self, tx: Tx, files: list[Path], before: float) -> None:
        """Remove the files that nobody holds, no row names and nobody has kept again meanwhile."""

        def is_needed(digest: str) -> bool:
            return tx.documents.uses_blob(digest) or not _is_older(self._blobs.path_of(digest), before)

        # While a backup copies files, this removes nothing; the next round removes them.
        self._blobs.discard([file.name for file in files], is_needed)


def _is_older(file: Path, before: float) -> bool:
    try:
        return file.stat().st_mtime < before
    except FileNotFoundError:
        return False
