"""Watch the processes of live sessions, and shorten the lease of a session whose process has ended."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime, timedelta

from maestro.core import errors, limits
from maestro.domain.sessions import SessionStatus, StatusSignal, StatusSource
from maestro.services.presence.process_watch import ProcessWatch
from maestro.services.presence.tracker import PresenceTracker
from maestro.store.base import Store, Tx

log = logging.getLogger(__name__)


class ProcessWatchJob:
    """A job that runs when sessions start and end."""

    name = "process-watch"

    def __init__(self, store: Store, presence: PresenceTracker, *, on_lease_shortened: Callable[[], None]) -> None:
        self._store = store
        self._presence = presence
        self._shortened = on_lease_shortened
        self._watch = ProcessWatch(store, self._handle_end_of_process)
        self._reported: set[str] = set()

    async def run_once(self) -> datetime | None:
        await self._watch.watch_live_sessions()
        return None

    def forget_process_end(self, session_id: str) -> None:
        """Forget the end of the session's last process: a restarted session reports the end of its next process."""
        self._reported.discard(session_id)

    async def close(self) -> None:
        await self._watch.close()

    async def _handle_end_of_process(self, session_id: str) -> None:
        """Shorten the lease of the session: without a process, only a new report within moments shows it as alive."""
        if session_id in self._reported:
            return
        self._reported.add(session_id)
        self._presence.record_process_end(session_id)  # signs of life from before the end no longer count
        try:
            await self._store.write(lambda tx: _shorten_lease(tx, session_id))
        except errors.StorageFailed as problem:
            log.warning("the end of the process of %s could not be stored: %s", session_id, problem)
            return  # the lease runs out without the shortening too, only later
        self._shortened()


def _shorten_lease(tx: Tx, session_id: str) -> None:
    session = tx.sessions.get(session_id)
    if session is None or session.ended_at is not None:
        return
    tx.sessions.shorten_lease(session_id, lease_until=tx.at + timedelta(seconds=limits.session_grace_seconds))
    # Only `explain` shows this signal. An expired signal does not count as a status.
    ended = StatusSignal(StatusSource.PROCESS, SessionStatus.LOST, tx.at, tx.at, f"process {session.pid} has ended")
    tx.sessions.put_signal(session_id, ended)
