"""Ends programs of sessions that have nothing left to do: their try or their run is over, or they ended on record.

A program that has reported its task may stay for more, as a chat does: it gets a moment to finish its sentence. One
that somebody looks at is left alone until nobody does; one whose task is no more is ended at once.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from maestro.core import errors, limits
from maestro.core.clock import Clock
from maestro.domain.runs import Outcome
from maestro.services.programs.stopping import Stopping
from maestro.store.base import Store
from maestro.store.repositories.spawns import Dismissed

_DONE = (Outcome.COMPLETED, Outcome.FAILED)


class Dismissing:
    """Runs when a session, a try or a run is over, and when someone's moment has passed."""

    name = "dismissing"

    def __init__(self, store: Store, stopping: Stopping, *, clock: Clock, grace_seconds: int) -> None:
        self._store = store
        self._stopping = stopping
        self._clock = clock
        self._grace = timedelta(seconds=grace_seconds)
        self._asked: set[str] = set()

    async def run_once(self) -> datetime | None:
        found = await self._store.read(lambda tx: tx.spawns.dismissed(limit=limits.upkeep_batch_rows_max))
        self._asked &= {one.session_id for one in found}
        due = [await self._look_at(one) for one in found if one.session_id not in self._asked]
        return min((when for when in due if when is not None), default=None)

    async def _look_at(self, one: Dismissed) -> datetime | None:
        """When to look at a session again; none if it was told to end."""
        now = self._clock.now()
        is_done = one.outcome in _DONE or one.run_id is None
        if is_done and one.ended_at is not None and one.ended_at + self._grace > now:
            return one.ended_at + self._grace
        try:
            if is_done and await self._stopping.is_looked_at(one.session_id):
                return now + max(self._grace, timedelta(seconds=1))
            why = f"the end of its task in {one.run_id}" if one.run_id else "its end on record"
            await self._stopping.stop(one.session_id, by=why)
        except errors.Conflict:  # it has ended, or is not quite there
            return now + timedelta(seconds=1)
        self._asked.add(one.session_id)
        return None
