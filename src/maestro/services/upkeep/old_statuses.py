"""Judges a session's status anew once the word that it rests on has grown old."""

from __future__ import annotations

from datetime import datetime

from maestro.core import limits
from maestro.services.sessions import status
from maestro.store.base import Store, Tx


class OldStatuses:
    """Runs when a status runs out."""

    name = "old-statuses"

    def __init__(self, store: Store) -> None:
        self._store = store

    async def run_once(self) -> datetime | None:
        due, now = await self._store.read(lambda tx: (tx.sessions.next_old_status(), tx.at))
        if due is None or due > now:
            return due
        await self._store.write(_judge_anew)
        return now


def _judge_anew(tx: Tx) -> None:
    for session in tx.sessions.with_old_status(tx.at, limit=limits.upkeep_batch_rows_max):
        status.outlived(tx, session)
