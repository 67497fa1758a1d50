"""Remove the runner folders of sessions that ended long ago: transcripts, prompts, logs. The store's rows stay."""

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


class TranscriptRetentionJob:
    """A job that keeps transcripts for `days` days after the session's end; 0 means for ever."""

    name = "transcript-retention"

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
        names = await asyncio.to_thread(self._next_names)
        if not names:
            self._after = ""
            return now + _EVERY
        before = now - timedelta(days=self._days)
        old = await self._store.read(lambda tx: _ended_before(tx, names, before))
        await asyncio.to_thread(_remove_folders, [self._folder / name for name in old])
        self._after = names[-1]
        return now

    def _next_names(self) -> list[str]:
        """Return the next batch of folder names, in their order."""
        try:
            names = sorted(entry.name for entry in self._folder.iterdir() if entry.name > self._after)
        except FileNotFoundError:
            return []
        return list(itertools.islice(names, limits.job_batch_rows_max))


def _ended_before(tx: Tx, names: list[str], before: datetime) -> list[str]:
    """Return the folder names of sessions that ended before `before`. Folders of unknown sessions are kept."""
    known = [(name, session) for name in names if (session := tx.sessions.get(name)) is not None]
    return [name for name, session in known if session.ended_at is not None and session.ended_at < before]


def _remove_folders(folders: list[Path]) -> None:
    for folder in folders:
        if folder.is_symlink():  # an upgrade linked a session folder on another disk
            target = folder.resolve()
            if target.name == folder.name:  # no other folder is removed through a link
                shutil.rmtree(target, ignore_errors=True)
            folder.unlink()
        else:
            shutil.rmtree(folder, ignore_errors=True)
