"""Lets go of old mail, if the settings say so: a bounded batch at a time, and never what is still to be read."""

from __future__ import annotations

from datetime import datetime, timedelta

from maestro.core import limits
from maestro.services.mail.search import Search
from maestro.store.base import Store, Tx

_EVERY = timedelta(hours=1)


class MailRetention:
    """Keeps mail for as many days as the settings say; 0 is for ever."""

    name = "mail-retention"

    def __init__(self, store: Store, search: Search, *, days: int) -> None:
        self._store = store
        self._search = search
        self._days = days
        self._after = 0

    async def run_once(self) -> datetime | None:
        if self._days == 0:
            return None
        seen, now = await self._store.write(self._prune)
        if seen < limits.upkeep_batch_rows_max:
            self._after = 0
            return now + _EVERY
        return now

    def _prune(self, tx: Tx) -> tuple[int, datetime]:
        """One batch: each old message is looked at once a round, and goes unless someone is still to read it."""
        before = tx.at - timedelta(days=self._days)
        old = tx.mail.old(after=self._after, before=before, limit=limits.upkeep_batch_rows_max)
        gone = {seq: message_id for seq, message_id in old if not tx.mail.is_open(seq)}
        indexed_to, _ = tx.mail.search_state()
        for words in tx.mail.known_words(list(gone)):
            body = self._search.body(words)
            tx.mail.delete(words, gone[words.seq], body=body, is_indexed=words.seq <= indexed_to)
        if old:
            self._after = old[-1][0]
        return len(old), tx.at
