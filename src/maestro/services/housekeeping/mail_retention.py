"""Delete old mail as the settings say, in bounded batches. Unread mail is never deleted."""

from __future__ import annotations

from datetime import datetime, timedelta

from maestro.core import limits
from maestro.services.mail.search import MailSearch
from maestro.store.base import Store, Tx

_EVERY = timedelta(hours=1)


class MailRetentionJob:
    """A job that keeps mail for `days` days; 0 means for ever."""

    name = "mail-retention"

    def __init__(self, store: Store, search: MailSearch, *, days: int) -> None:
        self._store = store
        self._search = search
        self._days = days
        self._after = 0

    async def run_once(self) -> datetime | None:
        if self._days == 0:
            return None
        count, now = await self._store.write(self._delete_batch)
        if count < limits.job_batch_rows_max:
            self._after = 0
            return now + _EVERY
        return now

    def _delete_batch(self, tx: Tx) -> tuple[int, datetime]:
        """Check the next batch of old messages and delete those that no recipient has still to read.

        Return the number of checked messages and the present time.
        """
        before = tx.at - timedelta(days=self._days)
        old = tx.mail.list_old(after=self._after, before=before, limit=limits.job_batch_rows_max)
        deletable = {message.seq: message.id for message in old if not tx.mail.has_open_delivery(message.seq)}
        indexed_to = tx.mail.search_state().indexed_to
        for indexed in tx.mail.indexed_texts(list(deletable)):
            body = self._search.read_body(indexed)
            tx.mail.delete(indexed, deletable[indexed.seq], body=body, is_indexed=indexed.seq <= indexed_to)
        if old:
            self._after = old[-1].seq
        return len(old), tx.at
