"""Brings records and runners together: after a restart, and whenever a runner may have gone without a word.

A runner that lives reports by itself. One that is gone has left its last words in its spool, or nothing: then its
session is lost, whatever still runs of its agent is ended, and a run tries again.
"""

from __future__ import annotations

import asyncio
import logging
from datetime import datetime, timedelta

import msgspec

from maestro.core import errors, limits
from maestro.core.clock import EPOCH, Clock
from maestro.domain.callers import THE_SERVER
from maestro.domain.sessions import Source, Status
from maestro.domain.spawns import Spawn
from maestro.services.programs import reports as runner_reports
from maestro.services.programs.launching import Launching
from maestro.services.programs.runners import Runners
from maestro.services.programs.starting import Starts
from maestro.services.recovery.findings import Findings
from maestro.services.sessions import records as sessions
from maestro.store.base import Store, Tx

_EVERY = timedelta(seconds=limits.presence_seconds)
_AFTER_STORAGE_FAILURE = timedelta(seconds=limits.storage_retry_seconds)
log = logging.getLogger(__name__)


class _Restarts(msgspec.Struct, frozen=True):
    count: int
    due: datetime  # not before then


class Reconcile:
    """Looks at every spawned session that has not been heard to end."""

    name = "reconcile"

    def __init__(
        self,
        store: Store,
        runners: Runners,
        launching: Launching,
        starts: Starts,
        findings: Findings,
        *,
        clock: Clock,
    ) -> None:
        self._store = store
        self._runners = runners
        self._launching = launching
        self._starts = starts
        self._findings = findings
        self._clock = clock
        self._after = EPOCH
        self._storage_failed = False
        self._restarts: dict[str, _Restarts] = {}  # of runners that ended before they came to anything

    async def run_once(self) -> datetime | None:
        await self._findings.take_note()
        many = limits.upkeep_batch_rows_max
        found = await self._store.read(lambda tx: tx.spawns.live(after=self._after, limit=many))
        try:
            for spawn in found:
                if self._is_at_it(spawn) or await asyncio.to_thread(self._runners.is_alive, spawn.session_id):
                    continue
                await self._settle(spawn)
        except errors.StorageFailed as problem:
            # What runners left stays on the disk, and is taken in as soon as it can be stored.
            if not self._storage_failed:
                log.warning("the end of a session could not be stored yet: %s", problem)
            self._storage_failed = True
            return self._clock.now() + _AFTER_STORAGE_FAILURE
        self._storage_failed = False
        self._after = found[-1].created_at if len(found) == many else EPOCH
        if len(found) < many:
            self._findings.looked.set()
        if not found:
            self._restarts.clear()
            return None
        if len(found) == many:
            return self._clock.now()
        soon = self._clock.now() + _EVERY
        return min([soon, *(one.due for one in self._restarts.values() if one.due > self._clock.now())])

    def _is_at_it(self, spawn: Spawn) -> bool:
        """Whether it is being started, or its runner is ours and has not ended."""
        return self._launching.is_under_way(spawn.session_id) or self._runners.is_starting(spawn.session_id)

    async def _settle(self, spawn: Spawn) -> None:
        """A session whose runner is not there."""
        spooled = await asyncio.to_thread(self._runners.spooled, spawn.session_id)
        told = [
            report
            for one in spooled
            if (report := runner_reports.decoded(one)) is not None and report.epoch == spawn.epoch
        ]
        if told:
            await asyncio.to_thread(self._runners.end_orphan, spawn.session_id, epoch=spawn.epoch)
            await self._store.write(lambda tx: _take(tx, spawn, told))
            await asyncio.to_thread(self._runners.forget_spool, spawn.session_id)
        elif self._is_at_it(spawn):
            return
        elif not self._was_started(spawn):
            await self._start(spawn)
        else:
            await asyncio.to_thread(self._runners.end_orphan, spawn.session_id, epoch=spawn.epoch)
            await self._store.write(lambda tx: _lose(tx, spawn))

    def _was_started(self, spawn: Spawn) -> bool:
        """Whether a runner has carried out this start; what one of an earlier start left says nothing of it."""
        note = self._runners.note(spawn.session_id)
        return note is not None and note.epoch >= spawn.epoch

    async def _start(self, spawn: Spawn) -> None:
        """It was written, but no agent runs: the server was killed in between, or its runner ended too soon."""
        now, before = self._clock.now(), self._restarts.get(spawn.session_id, _Restarts(0, EPOCH))
        if before.due > now:
            return
        if before.count >= limits.runner_restarts_max:
            del self._restarts[spawn.session_id]
            said = await asyncio.to_thread(self._runners.last_words, spawn.session_id)
            await self._launching.fail(spawn.session_id, f"Its runner ended {before.count} times at once. {said}")
            return
        if self._starts.is_full:
            return  # it is looked at again as soon as there is room
        wait = timedelta(seconds=limits.runner_restart_seconds * 2**before.count)
        self._restarts[spawn.session_id] = _Restarts(before.count + 1, now + wait)
        self._starts.begin(spawn.session_id)


def _take(tx: Tx, spawn: Spawn, told: list[runner_reports.Report]) -> None:
    for report in told:
        session, now = tx.sessions.get(spawn.session_id), tx.spawns.get(spawn.session_id)
        caller = tx.sessions.caller(spawn.session_id) or THE_SERVER
        if session is not None and now is not None:  # read anew: it may have been started again meanwhile
            runner_reports.take(tx, session, now, report, caller)


def _lose(tx: Tx, spawn: Spawn) -> None:
    why = "its runner is gone, and has left no word"
    if not tx.spawns.end(spawn.session_id, epoch=spawn.epoch, code=None, signal=None, tail=why, at=tx.at):
        return
    session = tx.sessions.get(spawn.session_id)
    if session is not None and session.ended_at is None:
        sessions.finish(tx, session, Status.LOST, source=Source.PROCESS, actor=THE_SERVER, detail=why)
