"""Calls a session lost, but only when lease, signs of life and process are all gone.

A machine that slept, a clock that jumped, a server that was away: then everyone gets time to be heard again first.
"""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta

from maestro.core import limits
from maestro.core.clock import Clock
from maestro.domain.callers import THE_SERVER
from maestro.domain.sessions import FINAL, Session, Source, Status, is_lost
from maestro.services.sessions import records as sessions
from maestro.services.sessions.patience import GRACE, Patience
from maestro.services.sessions.presence import Presence
from maestro.store.base import Store, Tx

_AGAIN = timedelta(seconds=limits.session_lease_seconds // 2)


class LostSessions:
    """Looks at sessions whose lease has run out."""

    name = "lost-sessions"

    def __init__(self, store: Store, presence: Presence, *, clock: Clock) -> None:
        self._store = store
        self._presence = presence
        self._patience = Patience(clock)
        self._is_first = True

    async def run_once(self) -> datetime | None:
        due = await self._store.read(lambda tx: (tx.sessions.next_lease(), tx.at))
        now = due[1]
        if self._is_first and due[0] is not None and due[0] <= now + GRACE:
            self._patience.begin()  # leases ran down while no server was there to renew them
        self._is_first = False
        if left := self._patience.left():
            return now + max(left, timedelta(seconds=1))
        if due[0] is None or due[0] > now:
            return self._next(due[0], now)
        found = await self._store.read(lambda tx: tx.sessions.due(tx.at, limit=limits.upkeep_batch_rows_max))
        running = await asyncio.to_thread(_running, found)
        await self._store.write(lambda tx: self._judge(tx, found, running))
        return self._next(await self._store.read(lambda tx: tx.sessions.next_lease()), now)

    def _next(self, due: datetime | None, now: datetime) -> datetime:
        """Now and then also without a lease to look at: a jump of the clock is found out by looking."""
        soon = now + timedelta(seconds=limits.session_lease_seconds)
        return min(due, soon) if due else soon

    def _judge(self, tx: Tx, found: list[Session], running: set[str]) -> None:
        for seen in found:
            session = tx.sessions.get(seen.id)  # read anew: it may have been heard of just now
            if session is None or session.ended_at is not None or session.lease_until > tx.at:
                continue
            if _has_runner(tx, session):
                tx.sessions.defer(session.id, lease_until=tx.at + _AGAIN)
                continue
            heard = self._presence.was_heard(session.id, seconds=sessions.lease_seconds(session.pid))
            if is_lost(lease_is_over=True, was_heard=heard, process_lives=session.id in running):
                _lose(tx, session)
            elif heard:
                tx.sessions.renew(session.id, at=tx.at)
            else:
                tx.sessions.defer(session.id, lease_until=tx.at + _AGAIN)


def _has_runner(tx: Tx, session: Session) -> bool:
    """Return whether a runner answers for the session: it reports the end, or `reconcile` finds that it is gone."""
    spawn = tx.spawns.get(session.id)
    return spawn is not None and spawn.ended_at is None


def _lose(tx: Tx, session: Session) -> None:
    """One that had said it was done is not lost: it has gone home."""
    final = session.status if session.status in FINAL else Status.LOST
    sessions.finish(
        tx,
        session,
        final,
        source=Source.PROCESS if session.pid is not None else Source.HEARTBEAT,
        actor=THE_SERVER,
        detail=f"No sign of life since {session.seen_at:%Y-%m-%d %H:%M:%S} UTC"
        + (f", and process {session.pid} is gone." if session.pid is not None else "."),
    )


def _running(found: list[Session]) -> set[str]:
    return {session.id for session in found if session.pid is not None and sessions.is_running(session)}
