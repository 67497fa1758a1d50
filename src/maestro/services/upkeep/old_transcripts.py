"""Removes the folders of runners whose sessions ended long ago: transcripts, prompts, logs. The records stay."""

from __future__ import annotations

import asyncio
import itertools
import shutil
from datetime import datetime, timedelta
from pathlib import Path

from maestro.core import limits
from maestro.core.clock import Clock
from maestro.store.base import Store, Tx

_EVERY = timedelta(hours=6)


class OldTranscripts:
    """Keeps what sessions showed as long as the settings say."""

    name = "old-transcripts"

    def __init__(self, store: Store, folder: Path, *, days: int, clock: Clock) -> None:
        self._store = store
        self._folder = folder
        self._days = days
        self._clock = clock
        self._after = ""

    async def run_once(self) -> datetime | None:
        now = self._clock.now()
        if self._days == 0:
            return None
        names = await asyncio.to_thread(self._next)
        if not names:
            self._after = ""
            return now + _EVERY
        before = now - timedelta(days=self._days)
        old = await self._store.read(lambda tx: _ended(tx, names, before))
        await asyncio.to_thread(_remove, [self._folder / name for name in old])
        self._after = names[-1]
        return now

    def _next(self) -> list[str]:
        """A batch of folders, in the order of their names."""
        try:
            names = sorted(entry.name for entry in self._folder.iterdir() if entry.name > self._after)
        except FileNotFoundError:
            return []
        return list(itertools.islice(names, limits.upkeep_batch_rows_max))


def _ended(tx: Tx, names: list[str], before: datetime) -> list[str]:
    """Those of sessions that ended before then. What belongs to nobody we know is not ours to remove."""
    found = ((name, tx.sessions.get(name)) for name in names)
    return [name for name, one in found if one is not None and one.ended_at is not None and one.ended_at < before]


def _remove(folders: list[Path]) -> None:
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
