"""Determine a session's status again once the signal behind the status has run out."""

from __future__ import annotations

from datetime import datetime

from maestro.core import limits
from maestro.services.sessions import status
from maestro.store.base import Store, Tx


class OldStatusJob:
    """A job that runs when the signal behind a session's status runs out."""

    name = "stale-statuses"

    def __init__(self, store: Store) -> None:
        self._store = store

    async def run_once(self) -> datetime | None:
        due, now = await self._store.read(lambda tx: (tx.sessions.next_status_expiry(), tx.at))
        if due is None or due > now:
            return due
        await self._store.write(_update_old_statuses)
        return now


def _update_old_statuses(tx: Tx) -> None:
    for session in tx.sessions.list_with_old_status(tx.at, limit=limits.job_batch_rows_max):
        status.expire_status(tx, session)
