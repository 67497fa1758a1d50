"""Keeps the watch on sessions' processes in step with the sessions that live."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime, timedelta

from maestro.core import errors, limits
from maestro.domain.sessions import Signal, Source, Status
from maestro.services.sessions.presence import Presence
from maestro.services.sessions.process_watch import ProcessWatch
from maestro.store.base import Store, Tx

log = logging.getLogger(__name__)


class Processes:
    """Runs when sessions come and go."""

    name = "processes"

    def __init__(self, store: Store, presence: Presence, *, shortened: Callable[[], None]) -> None:
        self._store = store
        self._presence = presence
        self._shortened = shortened
        self._watch = ProcessWatch(store, self._gone)
        self._told: set[str] = set()

    async def run_once(self) -> datetime | None:
        await self._watch.refresh()
        return None

    def forget(self, session_id: str) -> None:
        """It is started again: the end of its next process is news."""
        self._told.discard(session_id)

    async def close(self) -> None:
        await self._watch.close()

    async def _gone(self, session_id: str) -> None:
        """Its process has ended: unless it is heard of within moments, nothing speaks for it any more."""
        if session_id in self._told:
            return
        self._told.add(session_id)
        self._presence.process_ended(session_id)  # what was heard before says nothing of now
        try:
            await self._store.write(lambda tx: _shorten(tx, session_id))
        except errors.StorageFailed as problem:
            log.warning("the end of process of %s could not be stored: %s", session_id, problem)
            return  # its lease runs out all the same, only later
        self._shortened()


def _shorten(tx: Tx, session_id: str) -> None:
    session = tx.sessions.get(session_id)
    if session is None or session.ended_at is not None:
        return
    tx.sessions.shorten(session_id, lease_until=tx.at + timedelta(seconds=limits.session_grace_seconds))
    # For `explain`: what the process said last. It does not count as a status by itself.
    gone = Signal(Source.PROCESS, Status.LOST, tx.at, tx.at, f"process {session.pid} has ended")
    tx.sessions.put_signal(session_id, gone)
