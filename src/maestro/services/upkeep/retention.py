"""Lets go of old log lines and idempotency keys, a bounded batch at a time."""

from __future__ import annotations

from datetime import datetime, timedelta

from maestro.core import limits
from maestro.store.base import Store, Tx

_EVERY = timedelta(hours=1)


class Retention:
    """Keeps the log as long as the settings say, and keys for a week."""

    name = "retention"

    def __init__(self, store: Store, *, events_days: int) -> None:
        self._store = store
        self._events_days = events_days

    async def run_once(self) -> datetime | None:
        gone, now = await self._store.write(self._prune)
        more = gone >= limits.upkeep_batch_rows_max
        return now if more else now + _EVERY

    def _prune(self, tx: Tx) -> tuple[int, datetime]:
        many = limits.upkeep_batch_rows_max
        keys = tx.idempotency.prune(before=tx.at - timedelta(days=limits.idempotency_days_kept), limit=many)
        events = 0
        if self._events_days > 0:
            events = tx.events.prune(before=tx.at - timedelta(days=self._events_days), limit=many)
        return max(keys, events), tx.at
