"""Delete old events and idempotency keys, in bounded batches."""

from __future__ import annotations

from datetime import datetime, timedelta

from maestro.core import limits
from maestro.store.base import Store, Tx

_EVERY = timedelta(hours=1)


class EventRetentionJob:
    """A job that keeps events for `events_days` days (0 means for ever) and idempotency keys for a week."""

    name = "event-retention"

    def __init__(self, store: Store, *, events_days: int) -> None:
        self._store = store
        self._events_days = events_days

    async def run_once(self) -> datetime | None:
        deleted, now = await self._store.write(self._delete_batch)
        has_more = deleted >= limits.job_batch_rows_max
        return now if has_more else now + _EVERY

    def _delete_batch(self, tx: Tx) -> tuple[int, datetime]:
        batch_size = limits.job_batch_rows_max
        keys = tx.idempotency.prune_old(before=tx.at - timedelta(days=limits.idempotency_days_kept), limit=batch_size)
        events = 0
        if self._events_days > 0:
            events = tx.events.prune_old(before=tx.at - timedelta(days=self._events_days), limit=batch_size)
        return max(keys, events), tx.at
