"""Store the signs of life that presence has collected: coarse times, many sessions in one write."""

from __future__ import annotations

from datetime import datetime, timedelta

from maestro.core import limits
from maestro.core.clock import Clock
from maestro.services.presence.tracker import PresenceTracker
from maestro.store.base import Store, Tx


class PresenceJob:
    """A job that renews the leases of sessions with signs of life, and the claims that these sessions hold."""

    name = "presence"

    def __init__(self, store: Store, presence: PresenceTracker, *, clock: Clock) -> None:
        self._store = store
        self._presence = presence
        self._clock = clock

    async def run_once(self) -> datetime | None:
        for session_id in self._presence.connected_sessions():
            self._presence.record_sign(session_id)
        session_ids = self._presence.take_unstored(limits.sessions_in_tree_max)
        if session_ids:
            await self._store.write(lambda tx: _renew_leases(tx, session_ids))
        return self._clock.now() + timedelta(seconds=limits.presence_store_seconds)


def _renew_leases(tx: Tx, session_ids: list[str]) -> None:
    tx.sessions.renew_leases(*session_ids, at=tx.at)
    tx.tasks.renew_claims_of_many(session_ids, at=tx.at)
