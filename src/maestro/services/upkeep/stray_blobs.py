"""Removes content files that no row names: left by a crash between file and row, or by a deleted task."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from pathlib import Path

from maestro import limits
from maestro.clock import Clock
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

    async def run_once(self) -> datetime | None:
        now = self._clock.now()
        files = await asyncio.to_thread(self._old, now.timestamp() - _AGE_SECONDS_MIN)
        # On the writer, so that no row can come to name a file between the look and the removal.
        await self._store.write(lambda tx: _remove(tx, files[: limits.upkeep_batch_rows_max]))
        return now + _EVERY

    def _old(self, before: float) -> list[Path]:
        return [file for file in self._blobs.all() if file.stat().st_mtime < before]


def _remove(tx: Tx, files: list[Path]) -> None:
    for file in files:
        if not tx.documents.uses_blob(file.name):
            file.unlink(missing_ok=True)
