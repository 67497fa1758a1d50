"""What was running when the server started, and what became of it: what `maestro up` says."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import msgspec

from maestro.core import limits
from maestro.core.clock import Clock
from maestro.domain.callers import Caller
from maestro.domain.runs import Run
from maestro.domain.sessions import Session, Status
from maestro.domain.tasks import Status as TaskStatus
from maestro.operations import server as ops
from maestro.operations.server import Fate, FoundRun, FoundSession
from maestro.services.runs import records as runs
from maestro.services.sessions import notices
from maestro.services.sessions import records as sessions
from maestro.services.sessions.presence import Presence
from maestro.store.base import Store, Tx
from maestro.system import boot_id

_LOOK_SECONDS_MAX = 10


class _Noted(msgspec.Struct, frozen=True):
    """A session as it was found."""

    id: str
    epoch: int | None  # none: Maestro did not start it


class Findings:
    """Taken before anything is judged; told as things stand when someone asks."""

    def __init__(
        self, store: Store, presence: Presence, recover: Callable[[float], Awaitable[None]], *, clock: Clock
    ) -> None:
        self._store = store
        self._presence = presence
        self._recover = recover
        self._started_at = clock.now()
        self._noted: list[_Noted] | None = None
        self._noting = asyncio.Lock()
        self._runs: list[str] = []
        self._rebooted = False
        self.looked = asyncio.Event()  # every runner was looked for once

    async def take_note(self) -> None:
        """Once, before anyone is let in: who had not ended."""
        async with self._noting:
            if self._noted is None:
                self._noted = await self._store.read(self._note)

    def _note(self, tx: Tx) -> list[_Noted]:
        found = tx.sessions.live_anywhere(limit=limits.found_sessions_max)
        self._runs = [run.id for run in tx.runs.live(limit=limits.found_sessions_max)]
        self._rebooted = any(boot_id.is_earlier(session.pid_started) for session in found)
        spawns = {session.id: tx.spawns.get(session.id) for session in found}
        return [_Noted(one.id, spawn.epoch if (spawn := spawns[one.id]) else None) for one in found]

    async def show(self, caller: Caller, request: ops.Nothing) -> ops.Recovery:
        """Once all runners were looked for, and who can be started again was; what takes long goes on meanwhile."""
        end = asyncio.get_running_loop().time() + _LOOK_SECONDS_MAX
        try:
            async with asyncio.timeout_at(end):
                await self.looked.wait()
        except TimeoutError:
            pass  # a great many: then as far as is known
        else:
            await self._recover(end - asyncio.get_running_loop().time())
        return await self._store.read(self._told)

    def _told(self, tx: Tx) -> ops.Recovery:
        noted = [(one, session) for one in self._noted or () if (session := tx.sessions.get(one.id)) is not None]
        found = [run for run_id in self._runs if (run := tx.runs.get(run_id)) is not None]
        names = {session.project_id: tx.projects.get(session.project_id) for _, session in noted}
        return ops.Recovery(
            started_at=self._started_at,
            rebooted=self._rebooted,
            sessions=[
                FoundSession(
                    id=session.id,
                    name=session.name,
                    project=project.name if (project := names[session.project_id]) else "",
                    mode=session.mode,
                    fate=self._fate(tx, one, session),
                    status=session.status,
                )
                for one, session in noted
            ],
            runs=[_run(tx, run) for run in found],
        )

    def _fate(self, tx: Tx, noted: _Noted, session: Session) -> Fate:
        spawn = tx.spawns.get(session.id)
        if session.ended_at is not None:
            route = tx.sessions.route(session.id)
            if route is not None and route.resumes:
                return Fate.RESUMING
            if session.status is not Status.LOST:
                return Fate.ENDED
            return Fate.REDONE if notices.is_of_a_live_run(tx, session) else Fate.LOST
        if spawn is not None and noted.epoch is not None and spawn.epoch > noted.epoch:
            return Fate.RESUMED
        if session.pid is not None and not sessions.is_running(session):
            return Fate.ENDED if spawn is not None else Fate.UNHEARD  # its runner's last words are on their way
        lives = spawn is not None or session.pid is not None or self._presence.was_heard(session.id)
        return Fate.ALIVE if lives else Fate.UNHEARD


def _run(tx: Tx, run: Run) -> FoundRun:
    found = runs.standing(tx, run)
    task = tx.tasks.get(run.task_id)
    return FoundRun(
        id=run.id,
        task=task.ref if task else run.task_id,
        status=run.status,
        completed=sum(one.task.status is TaskStatus.COMPLETED for one in found),
        tasks=len(found),
    )
