"""Wait for sessions to reach a status. A status that is reached already ends the wait at once."""

from __future__ import annotations

import asyncio

from maestro.core import errors
from maestro.domain.callers import Caller
from maestro.domain.sessions import ENDED_STATUSES, Session
from maestro.events.hub import Hub
from maestro.operations import sessions as ops
from maestro.services.access import session_relations
from maestro.services.presence.tracker import PresenceTracker
from maestro.store.base import Store, Tx

_Snapshot = tuple[list[Session], int, bool]


class SessionWaits:
    """Blocks until sessions have the status that a caller waits for."""

    def __init__(self, store: Store, hub: Hub, presence: PresenceTracker) -> None:
        self._store = store
        self._hub = hub
        self._presence = presence

    async def wait_for_sessions(self, caller: Caller, request: ops.WaitSessions) -> ops.WaitedSessions:
        """Wait until the sessions have reached the status, or can no longer reach it."""

        def read_sessions(tx: Tx) -> _Snapshot:
            session_relations.require_live_caller(tx, caller)
            found = [session_relations.find_session(tx, caller, ref, project=request.project) for ref in request.ids]
            has_changed = request.since is not None and any(
                tx.events.list_after(request.since, subject=session.id, limit=1) for session in found
            )
            return found, tx.events.last_seq(), has_changed

        sessions, seq, has_changed = await self._store.read(read_sessions, quick=True)
        with (
            self._hub.subscribe(
                [*session_relations.own_end_subjects(caller), *(session.id for session in sessions)]
            ) as subscription,
            self._presence.keep_connected(caller.session_id),
        ):
            try:
                async with asyncio.timeout(request.timeout / 1000):
                    sessions, seq, has_changed = await self._store.read(read_sessions, quick=True)
                    while (reached := _have_reached(request, sessions, has_changed=has_changed)) is None:
                        await subscription.wait_for_event()
                        is_lagging, subjects = subscription.is_lagging, {session.id for session in sessions}
                        is_about_them = any(event.subject in subjects for event in subscription.take_events())
                        has_changed = is_about_them or is_lagging or has_changed
                        sessions, seq, _ = await self._store.read(read_sessions, quick=True)
            except TimeoutError:
                raise _timed_out(request, sessions) from None
        return ops.WaitedSessions(sessions=sessions, reached=reached, seq=seq)


def _have_reached(request: ops.WaitSessions, sessions: list[Session], *, has_changed: bool) -> bool | None:
    """Return True if all sessions have the wanted status, False if one never will, None to wait on."""
    if request.until is ops.SessionWaitUntil.ANY_CHANGE:
        ended = [session.ended_at is not None for session in sessions]
        # A caller that gives `since` knows all earlier ends. They answer only when no session can change any more.
        is_over = any(ended) if request.since is None else all(ended)
        return True if has_changed or is_over else None
    reached = [_has_reached(request.until, session) for session in sessions]
    if False in reached:
        return False
    return True if all(reached) else None


def _has_reached(until: ops.SessionWaitUntil, session: Session) -> bool | None:
    if session.status.value == until.value:
        return True
    return False if session.status in ENDED_STATUSES else None


def _timed_out(request: ops.WaitSessions, sessions: list[Session]) -> errors.TimedOut:
    states = ", ".join(f"{session.name} is {session.status}" for session in sessions)
    return errors.TimedOut(
        f"Not {request.until} within {request.timeout / 1000:g} s: {states}.",
        data={"sessions": [{"id": found.id, "name": found.name, "status": found.status} for found in sessions]},
    )
