"""Mark a session as lost when its lease has run out, its signs of life have stopped and its process has ended.

After a sleep of the machine, a jump of the clock or a time without a server, every session first gets a grace period
to report again.
"""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta

from maestro.core import limits
from maestro.core.clock import Clock
from maestro.domain.callers import SERVER_CALLER
from maestro.domain.sessions import ENDED_STATUSES, Session, SessionStatus, StatusSource, is_lost
from maestro.services.presence.grace import GRACE, GracePeriod
from maestro.services.presence.tracker import PresenceTracker
from maestro.services.sessions import lifecycle as sessions
from maestro.store.base import Store, Tx

_DEFERRAL = timedelta(seconds=limits.session_lease_seconds // 2)


class LostSessionJob:
    """A job that checks sessions whose lease has run out."""

    name = "lost-sessions"

    def __init__(self, store: Store, presence: PresenceTracker, *, clock: Clock) -> None:
        self._store = store
        self._presence = presence
        self._grace = GracePeriod(clock)
        self._is_first = True

    async def run_once(self) -> datetime | None:
        due, now = await self._store.read(lambda tx: (tx.sessions.next_lease_end(), tx.at))
        if self._is_first and due is not None and due <= now + GRACE:
            self._grace.start_period()  # leases ran down while no server ran to renew them
        self._is_first = False
        if left := self._grace.remaining_time():
            return now + max(left, timedelta(seconds=1))
        if due is None or due > now:
            return self._next_round(due, now)
        expired = await self._store.read(
            lambda tx: tx.sessions.list_lease_expired(tx.at, limit=limits.job_batch_rows_max)
        )
        running = await asyncio.to_thread(_running_ids, expired)
        await self._store.write(lambda tx: self._check_sessions(tx, expired, running))
        return self._next_round(await self._store.read(lambda tx: tx.sessions.next_lease_end()), now)

    def _next_round(self, due: datetime | None, now: datetime) -> datetime:
        """Return the time of the next round, with an upper bound: only a round can notice a jump of the clock."""
        latest = now + timedelta(seconds=limits.session_lease_seconds)
        return min(due, latest) if due else latest

    def _check_sessions(self, tx: Tx, expired: list[Session], running: set[str]) -> None:
        for listed in expired:
            session = tx.sessions.get(listed.id)  # read again: the session may have reported just now
            if session is None or session.ended_at is not None or session.lease_until > tx.at:
                continue
            if _has_runner(tx, session):
                tx.sessions.defer_lease(session.id, lease_until=tx.at + _DEFERRAL)
                continue
            has_sign = self._presence.was_heard_within(session.id, seconds=sessions.lease_seconds(session.pid))
            if is_lost(is_lease_over=True, has_sign_of_life=has_sign, is_process_alive=session.id in running):
                _mark_lost(tx, session)
            elif has_sign:
                tx.sessions.renew_leases(session.id, at=tx.at)
            else:
                tx.sessions.defer_lease(session.id, lease_until=tx.at + _DEFERRAL)


def _has_runner(tx: Tx, session: Session) -> bool:
    """Return whether a runner supervises the session. The runner or `reconcile` then records the session's end."""
    spawn = tx.spawns.get(session.id)
    return spawn is not None and spawn.ended_at is None


def _mark_lost(tx: Tx, session: Session) -> None:
    """End the session as lost. A session with a reported final status keeps its status."""
    final = session.status if session.status in ENDED_STATUSES else SessionStatus.LOST
    sessions.finish_session(
        tx,
        session,
        final,
        source=StatusSource.PROCESS if session.pid is not None else StatusSource.HEARTBEAT,
        actor=SERVER_CALLER,
        detail=f"No sign of life since {session.seen_at:%Y-%m-%d %H:%M:%S} UTC"
        + (f", and process {session.pid} is gone." if session.pid is not None else "."),
    )


def _running_ids(expired: list[Session]) -> set[str]:
    return {session.id for session in expired if session.pid is not None and sessions.is_process_running(session)}
