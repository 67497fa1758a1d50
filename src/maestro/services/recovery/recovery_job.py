"""Carry out planned recoveries of sessions that ended by accident: restart them, hand over or stop their workers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta

import msgspec

from maestro.core import limits
from maestro.domain.callers import SERVER_CALLER
from maestro.domain.recovery import RecoveryStep, SessionRecovery
from maestro.domain.sessions import Session, SessionMode
from maestro.services.recovery import orphans
from maestro.services.runners.runners import Runners
from maestro.services.supervision import resume
from maestro.services.supervision.background_starts import BackgroundStarts
from maestro.services.supervision.stop import ProgramStopper
from maestro.store.base import Store, Tx


class RecoveryJob:
    """A job that runs when a session has ended, and when a recovery is due."""

    name = "recovery"

    def __init__(self, store: Store, starts: BackgroundStarts, runners: Runners, stopping: ProgramStopper) -> None:
        self._store = store
        self._starts = starts
        self._runners = runners
        self._stopping = stopping
        self._round_lock = asyncio.Lock()
        self.on_given_up: Callable[[], None] = lambda: None  # called when mail kept for a session may be rerouted

    async def run_once(self) -> datetime | None:
        async with self._round_lock:
            batch_size = limits.job_batch_rows_max
            for recovery in await self._store.read(lambda tx: tx.recoveries.list_due(tx.at, limit=batch_size)):
                await self._carry_out(recovery)
            return await self._store.read(self._next_due)

    async def settle_due(self, seconds: float) -> None:
        """Carry out due recoveries, and wait until the restarted sessions have started, for at most `seconds`."""
        end = asyncio.get_running_loop().time() + seconds
        await self.run_once()
        while await self._starts.wait_for_one(seconds=end - asyncio.get_running_loop().time()):
            await self.run_once()

    def _next_due(self, tx: Tx) -> datetime | None:
        """Return when a recovery is next due. Without room for another start the next round comes a while later."""
        due = tx.recoveries.next_due_at()
        if due is None or not self._starts.is_full:
            return due
        return max(due, tx.at + timedelta(seconds=limits.resume_check_seconds))

    async def _carry_out(self, recovery: SessionRecovery) -> None:
        match recovery.step:
            case RecoveryStep.RESUME:
                await self._resume_session(recovery)
            case RecoveryStep.HAND_OVER:
                await self._store.write(lambda tx: orphans.hand_over_workers(tx, recovery))
            case RecoveryStep.ADOPT:
                await self._store.write(lambda tx: orphans.adopt_as_decided(tx, recovery))
            case RecoveryStep.STOP:
                await self._stop_workers(recovery)

    async def _resume_session(self, recovery: SessionRecovery) -> None:
        if self._starts.is_full:
            return  # the recovery stays due: the session's lease and claims only run once its restart is recorded
        if await self._has_runner(recovery.session_id):
            await self._store.write(lambda tx: _postpone(tx, recovery))
            return
        session = await self._store.write(lambda tx: _record_restart(tx, recovery))
        if session is None:
            self.on_given_up()
            return
        self._starts.start_program(session.id)

    async def _has_runner(self, session_id: str) -> bool:
        """Return whether a runner still serves the session.

        A runner that has reported the end no longer counts: the next runner waits for the exit of the last.
        """
        spawn = await self._store.read(lambda tx: tx.spawns.get(session_id), quick=True)
        if spawn is None or spawn.ended_at is not None:
            return False
        return await asyncio.to_thread(self._runners.has_live_runner, session_id)

    async def _stop_workers(self, recovery: SessionRecovery) -> None:
        """Stop the workers of an ended coordinator, as the person has decided."""

        def take_workers(tx: Tx) -> list[str]:
            tx.recoveries.clear_next_step(recovery.session_id)
            return orphans.workers_of(tx, recovery)

        await self._stopping.stop_programs(await self._store.write(take_workers), by="the person")


def _postpone(tx: Tx, recovery: SessionRecovery) -> None:
    """Postpone the recovery, because the session's last runner has not ended yet."""
    later = tx.at + timedelta(seconds=limits.resume_check_seconds)
    tx.recoveries.put(msgspec.structs.replace(recovery, due_at=later))


def _record_restart(tx: Tx, recovery: SessionRecovery) -> Session | None:
    """Record the restart of the session. Return None if the session needs no restart any more."""
    session, spawn = tx.sessions.get(recovery.session_id), tx.spawns.get(recovery.session_id)
    tx.recoveries.clear_next_step(recovery.session_id)
    if session is None or spawn is None or session.ended_at is None:
        return None
    if session.mode is SessionMode.EXECUTE and session.tasks and not resume.tasks_to_resume(tx, session):
        return None  # other sessions hold or have finished its tasks
    attempts = recovery.attempts + 1
    tx.recoveries.put(SessionRecovery(session_id=session.id, attempts=attempts, resumed_at=tx.at))
    return resume.restart_session(tx, SERVER_CALLER, session, spawn)
