"""Reconcile the records of spawned sessions with their runners: after a restart, and while sessions live.

A live runner reports by itself. A runner that is gone may have left reports in its spool. Without reports, a session
whose program never started is started again. Otherwise the session is lost: the remaining processes of its program
are ended, and a run starts the next attempt.
"""

from __future__ import annotations

import asyncio
import logging
from datetime import datetime, timedelta

import msgspec

from maestro.core import errors, limits
from maestro.core.clock import UNIX_EPOCH, Clock
from maestro.domain.callers import SERVER_CALLER
from maestro.domain.sessions import SessionStatus, StatusSource
from maestro.domain.spawns import Spawn
from maestro.services.recovery.findings import RestartFindings
from maestro.services.runners.runners import Runners
from maestro.services.sessions import lifecycle as sessions
from maestro.services.supervision import runner_reports
from maestro.services.supervision.background_starts import BackgroundStarts
from maestro.services.supervision.launch import ProgramLauncher
from maestro.store.base import Store, Tx

_EVERY = timedelta(seconds=limits.presence_store_seconds)
_AFTER_STORAGE_FAILURE = timedelta(seconds=limits.storage_retry_seconds)
log = logging.getLogger(__name__)


class _Restarts(msgspec.Struct, frozen=True):
    """How often a runner was restarted, and when it may be restarted again."""

    count: int
    due: datetime  # the next restart comes no earlier


class ReconcileJob:
    """A job that checks every spawned session whose end is not recorded."""

    name = "reconcile"

    def __init__(
        self,
        store: Store,
        runners: Runners,
        launching: ProgramLauncher,
        starts: BackgroundStarts,
        findings: RestartFindings,
        *,
        clock: Clock,
    ) -> None:
        self._store = store
        self._runners = runners
        self._launching = launching
        self._starts = starts
        self._findings = findings
        self._clock = clock
        self._after = UNIX_EPOCH
        self._storage_failed = False
        self._restarts: dict[str, _Restarts] = {}  # by session, of runners that ended before their program started

    async def run_once(self) -> datetime | None:
        await self._findings.note_live_sessions()
        batch_size, is_first_batch = limits.job_batch_rows_max, self._after == UNIX_EPOCH
        spawns = await self._store.read(lambda tx: tx.spawns.list_live(after=self._after, limit=batch_size))
        try:
            for spawn in spawns:
                if self._is_starting(spawn) or await asyncio.to_thread(
                    self._runners.has_live_runner, spawn.session_id
                ):
                    continue
                await self._settle(spawn)
        except errors.StorageFailed as problem:
            # The spools of runners stay on the disk, and are applied as soon as the store accepts writes.
            if not self._storage_failed:
                log.warning("the end of a session could not be stored yet: %s", problem)
            self._storage_failed = True
            return self._clock.now() + _AFTER_STORAGE_FAILURE
        self._storage_failed = False
        self._after = spawns[-1].created_at if len(spawns) == batch_size else UNIX_EPOCH
        if len(spawns) < batch_size:
            self._findings.runners_checked.set()
        if not spawns and is_first_batch:
            self._restarts.clear()
            return None
        if len(spawns) == batch_size:
            return self._clock.now()
        latest = self._clock.now() + _EVERY
        return min([latest, *(restart.due for restart in self._restarts.values() if restart.due > self._clock.now())])

    def _is_starting(self, spawn: Spawn) -> bool:
        """Return whether the session is being started, or this server's runner for the session has not ended."""
        return self._launching.is_starting(spawn.session_id) or self._runners.has_own_runner(spawn.session_id)

    async def _settle(self, spawn: Spawn) -> None:
        """Settle a session whose runner is gone: apply its spooled reports, start it again, or mark it as lost."""
        spooled = await asyncio.to_thread(self._runners.read_spool, spawn.session_id)
        reports = [
            report
            for line in spooled
            if (report := runner_reports.decode_report(line)) is not None and report.epoch == spawn.epoch
        ]
        if reports:
            await asyncio.to_thread(self._runners.kill_orphans, spawn.session_id, epoch=spawn.epoch)
            await self._store.write(lambda tx: _apply_reports(tx, spawn, reports))
            await asyncio.to_thread(self._runners.delete_spool, spawn.session_id)
        elif self._is_starting(spawn):
            return
        elif not self._was_started(spawn):
            await self._restart(spawn)
        else:
            await asyncio.to_thread(self._runners.kill_orphans, spawn.session_id, epoch=spawn.epoch)
            await self._store.write(lambda tx: _mark_lost(tx, spawn))

    def _was_started(self, spawn: Spawn) -> bool:
        """Return whether a runner has started the program in this epoch. Earlier epochs do not count."""
        note = self._runners.read_note(spawn.session_id)
        return note is not None and note.epoch >= spawn.epoch

    async def _restart(self, spawn: Spawn) -> None:
        """Start a recorded session whose program never started: the server was killed, or the runner ended early."""
        now, before = self._clock.now(), self._restarts.get(spawn.session_id, _Restarts(0, UNIX_EPOCH))
        if before.due > now:
            return
        if before.count >= limits.runner_restarts_max:
            del self._restarts[spawn.session_id]
            last_output = await asyncio.to_thread(self._runners.last_log_lines, spawn.session_id)
            problem = f"Its runner ended {before.count} times right after its start. {last_output}"
            await self._launching.fail_session(spawn.session_id, problem)
            return
        if self._starts.is_full:
            return  # a later round tries again when there is room for another start
        wait = timedelta(seconds=limits.runner_restart_seconds * 2**before.count)
        self._restarts[spawn.session_id] = _Restarts(before.count + 1, now + wait)
        self._starts.start_program(spawn.session_id)


def _apply_reports(tx: Tx, spawn: Spawn, reports: list[runner_reports.RunnerMessage]) -> None:
    for report in reports:
        session, now = tx.sessions.get(spawn.session_id), tx.spawns.get(spawn.session_id)
        caller = tx.sessions.live_caller(spawn.session_id) or SERVER_CALLER
        if session is not None and now is not None:  # read again: the session may have been restarted meanwhile
            runner_reports.apply_report(tx, session, now, report, caller)


def _mark_lost(tx: Tx, spawn: Spawn) -> None:
    reason = "its runner is gone and left no report"
    if not tx.spawns.record_exit(spawn.session_id, epoch=spawn.epoch, code=None, signal=None, tail=reason, at=tx.at):
        return
    session = tx.sessions.get(spawn.session_id)
    if session is not None and session.ended_at is None:
        sessions.finish_session(
            tx, session, SessionStatus.LOST, source=StatusSource.PROCESS, actor=SERVER_CALLER, detail=reason
        )
