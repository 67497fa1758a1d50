"""Waiting for sessions. What has happened already answers at once."""

from __future__ import annotations

import asyncio

from maestro.core import errors
from maestro.domain.callers import Caller
from maestro.domain.sessions import FINAL, Session
from maestro.events.hub import Hub
from maestro.operations import sessions as ops
from maestro.services.sessions import kin
from maestro.services.sessions.presence import Presence
from maestro.store.base import Store, Tx

_Seen = tuple[list[Session], int, bool]


class SessionWaits:
    """Blocks until sessions are where a caller wants them."""

    def __init__(self, store: Store, hub: Hub, presence: Presence) -> None:
        self._store = store
        self._hub = hub
        self._presence = presence

    async def wait(self, caller: Caller, request: ops.WaitSessions) -> ops.WaitedSessions:
        """Ends at once when it is reached, or can no longer be."""

        def look(tx: Tx) -> _Seen:
            kin.require_live(tx, caller)
            found = [kin.named(tx, caller, ref, project=request.project) for ref in request.ids]
            changed = request.since is not None and any(
                tx.events.after(request.since, subject=session.id, limit=1) for session in found
            )
            return found, tx.events.last(), changed

        now, seq, changed = await self._store.read(look, quick=True)
        with (
            self._hub.subscribe([*kin.own_end(caller), *(session.id for session in now)]) as subscription,
            self._presence.attached(caller.session_id),
        ):
            try:
                async with asyncio.timeout(request.timeout / 1000):
                    now, seq, changed = await self._store.read(look, quick=True)
                    heard = changed
                    while (reached := _reached(request, now, heard=heard)) is None:
                        await subscription.wait()
                        lagging, about = subscription.lagging, {session.id for session in now}
                        heard = any(event.subject in about for event in subscription.take()) or lagging or heard
                        now, seq, _ = await self._store.read(look, quick=True)
            except TimeoutError:
                raise _timed_out(request, now) from None
        return ops.WaitedSessions(sessions=now, reached=reached, seq=seq)


def _reached(request: ops.WaitSessions, now: list[Session], *, heard: bool) -> bool | None:
    """True: all are where they should be. False: one never will be. None: wait on."""
    if request.until is ops.Until.ANY_CHANGE:
        ended = [session.ended_at is not None for session in now]
        # Whoever says since when has seen the ends before that: they answer only if nothing else can come.
        over = any(ended) if request.since is None else all(ended)
        return True if heard or over else None
    done = [_one_reached(request.until, session) for session in now]
    if False in done:
        return False
    return True if all(done) else None


def _one_reached(until: ops.Until, session: Session) -> bool | None:
    if session.status.value == until.value:
        return True
    return False if session.status in FINAL else None


def _timed_out(request: ops.WaitSessions, now: list[Session]) -> errors.TimedOut:
    states = ", ".join(f"{session.name} is {session.status}" for session in now)
    return errors.TimedOut(
        f"Not {request.until} within {request.timeout / 1000:g} s: {states}.",
        data={"sessions": [{"id": one.id, "name": one.name, "status": one.status} for one in now]},
    )
