"""Does what was planned for sessions that ended by accident: starts them again, hands their workers over, or asks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta

import msgspec

from maestro.core import limits
from maestro.domain.callers import THE_SERVER
from maestro.domain.recovery import Recovery, Step
from maestro.domain.sessions import Mode, Session
from maestro.services.programs import resuming
from maestro.services.programs.runners import Runners
from maestro.services.programs.starting import Starts
from maestro.services.programs.stopping import Stopping
from maestro.services.recovery import orphans
from maestro.store.base import Store, Tx


class Recovering:
    """Runs when a session has ended, and when its next try is due."""

    name = "recovering"

    def __init__(self, store: Store, starts: Starts, runners: Runners, stopping: Stopping) -> None:
        self._store = store
        self._starts = starts
        self._runners = runners
        self._stopping = stopping
        self._one_at_a_time = asyncio.Lock()
        self.on_given_up: Callable[[], None] = lambda: None  # mail that was kept for a session may go on

    async def run_once(self) -> datetime | None:
        async with self._one_at_a_time:
            many = limits.upkeep_batch_rows_max
            for known in await self._store.read(lambda tx: tx.recoveries.due(tx.at, limit=many)):
                await self._do(known)
            return await self._store.read(self._next)

    async def settle(self, seconds: float) -> None:
        """Do what is due, and wait until whoever was to be started is there; at most so long."""
        end = asyncio.get_running_loop().time() + seconds
        await self.run_once()
        while await self._starts.one_is_done(seconds=end - asyncio.get_running_loop().time()):
            await self.run_once()

    def _next(self, tx: Tx) -> datetime | None:
        """When something is due; while there is no room to start anyone, not at once."""
        due = tx.recoveries.next_due()
        if due is None or not self._starts.is_full:
            return due
        return max(due, tx.at + timedelta(seconds=limits.resume_look_seconds))

    async def _do(self, known: Recovery) -> None:
        match known.step:
            case Step.RESUME:
                await self._resume(known)
            case Step.HAND_OVER:
                await self._store.write(lambda tx: orphans.hand_over(tx, known))
            case Step.ADOPT:
                await self._store.write(lambda tx: orphans.adopt(tx, known))
            case Step.STOP:
                await self._stop(known)

    async def _resume(self, known: Recovery) -> None:
        if self._starts.is_full:
            return  # it stays due: its lease and claims only run once it is written that it is started
        if await self._has_runner(known.session_id):
            await self._store.write(lambda tx: _look_again(tx, known))
            return
        session = await self._store.write(lambda tx: _restart(tx, known))
        if session is None:
            self.on_given_up()
            return
        self._starts.begin(session.id)

    async def _has_runner(self, session_id: str) -> bool:
        """Whether a runner still has it. One that has reported the end is as good as gone: the next waits for it."""
        spawn = await self._store.read(lambda tx: tx.spawns.get(session_id), quick=True)
        if spawn is None or spawn.ended_at is not None:
            return False
        return await asyncio.to_thread(self._runners.is_alive, session_id)

    async def _stop(self, known: Recovery) -> None:
        """The person wants a coordinator's workers ended."""

        def take(tx: Tx) -> list[str]:
            tx.recoveries.clear(known.session_id)
            return orphans.workers_of(tx, known)

        await self._stopping.stop_all(await self._store.write(take), by="the person")


def _look_again(tx: Tx, known: Recovery) -> None:
    """Its last runner has not quite ended."""
    later = tx.at + timedelta(seconds=limits.resume_look_seconds)
    tx.recoveries.put(msgspec.structs.replace(known, due_at=later))


def _restart(tx: Tx, known: Recovery) -> Session | None:
    """Write that it is started again; None if there is no sense in that any more."""
    session, spawn = tx.sessions.get(known.session_id), tx.spawns.get(known.session_id)
    tx.recoveries.clear(known.session_id)
    if session is None or spawn is None or session.ended_at is None:
        return None
    if session.mode is Mode.EXECUTE and session.tasks and not resuming.free_tasks(tx, session):
        return None  # others have its tasks by now
    tries = known.tries + 1
    tx.recoveries.put(Recovery(session_id=session.id, tries=tries, resumed_at=tx.at))
    return resuming.restart(tx, THE_SERVER, session, spawn)
