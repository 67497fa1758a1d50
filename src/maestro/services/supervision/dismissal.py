"""End programs of sessions without further work: their attempt or run is over, or their session is recorded as ended.

A program that has reported its task may stay open, as a chat does, so it gets a grace period to finish its sentence.
A program with an attached terminal is left alone until the terminal is detached. A program whose task was taken away
is ended at once.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from maestro.core import errors, limits
from maestro.core.clock import Clock
from maestro.domain.runs import AttemptOutcome
from maestro.services.supervision.stop import ProgramStopper
from maestro.store.base import Store
from maestro.store.repositories.spawns import DismissedSession

_REPORTED = (AttemptOutcome.COMPLETED, AttemptOutcome.FAILED)


class DismissalJob:
    """A job that runs when a session, an attempt or a run is over, and when a grace period has passed."""

    name = "dismissal"

    def __init__(self, store: Store, stopping: ProgramStopper, *, clock: Clock, grace_seconds: int) -> None:
        self._store = store
        self._stopping = stopping
        self._clock = clock
        self._grace = timedelta(seconds=grace_seconds)
        self._asked_to_end: set[str] = set()

    async def run_once(self) -> datetime | None:
        dismissed = await self._store.read(lambda tx: tx.spawns.list_dismissed(limit=limits.job_batch_rows_max))
        self._asked_to_end &= {session.session_id for session in dismissed}
        due = [await self._dismiss(session) for session in dismissed if session.session_id not in self._asked_to_end]
        return min((at for at in due if at is not None), default=None)

    async def _dismiss(self, session: DismissedSession) -> datetime | None:
        """Stop the session's program if its time has come. Return when to check again; None after the stop."""
        now = self._clock.now()
        has_reported = session.outcome in _REPORTED or session.run_id is None
        if has_reported and session.ended_at is not None and session.ended_at + self._grace > now:
            return session.ended_at + self._grace
        try:
            if has_reported and await self._stopping.has_viewer(session.session_id):
                return now + max(self._grace, timedelta(seconds=1))
            cause = f"the end of its task in {session.run_id}" if session.run_id else "its recorded end"
            await self._stopping.stop_program(session.session_id, by=cause)
        except errors.Conflict:  # the program has ended, or its runner is still starting
            return now + timedelta(seconds=1)
        self._asked_to_end.add(session.session_id)
        return None
