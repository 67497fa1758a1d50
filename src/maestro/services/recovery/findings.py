"""The sessions and runs that were live at the server's start, and their fate since. `maestro up` shows both."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import msgspec

from maestro.core import limits
from maestro.core.clock import Clock
from maestro.domain.callers import Caller
from maestro.domain.runs import Run
from maestro.domain.sessions import Session, SessionStatus
from maestro.domain.tasks import TaskStatus
from maestro.operations import server as ops
from maestro.operations.server import FoundRun, FoundSession, FoundSessionState
from maestro.services.presence.tracker import PresenceTracker
from maestro.services.runs import control as runs
from maestro.services.sessions import lifecycle as sessions
from maestro.services.sessions import notices
from maestro.store.base import Store, Tx
from maestro.system import boot_id

_CHECK_SECONDS_MAX = 10


class _FoundAtStart(msgspec.Struct, frozen=True):
    """A session that was live at the server's start."""

    id: str
    epoch: int | None  # None: Maestro did not start the session


class RestartFindings:
    """Notes live sessions and runs before any session is judged; describes their present state on request."""

    def __init__(
        self,
        store: Store,
        signs_of_life: PresenceTracker,
        recover: Callable[[float], Awaitable[None]],
        *,
        clock: Clock,
    ) -> None:
        self._store = store
        self._signs_of_life = signs_of_life
        self._recover = recover
        self._started_at = clock.now()
        self._sessions: list[_FoundAtStart] | None = None
        self._note_lock = asyncio.Lock()
        self._run_ids: list[str] = []
        self._has_rebooted = False
        self.runners_checked = asyncio.Event()  # set after the server has looked for every runner once

    async def note_live_sessions(self) -> None:
        """Note once, before the server takes requests, which sessions and runs have not ended."""
        async with self._note_lock:
            if self._sessions is None:
                self._sessions = await self._store.read(self._read_live)

    def _read_live(self, tx: Tx) -> list[_FoundAtStart]:
        live = tx.sessions.list_live_anywhere(limit=limits.found_sessions_max)
        self._run_ids = [run.id for run in tx.runs.list_live(limit=limits.found_sessions_max)]
        self._has_rebooted = any(boot_id.is_from_earlier_boot(session.pid_started) for session in live)
        spawns = {session.id: tx.spawns.get(session.id) for session in live}
        return [_FoundAtStart(session.id, spawn.epoch if (spawn := spawns[session.id]) else None) for session in live]

    async def show_findings(self, caller: Caller, request: ops.EmptyRequest) -> ops.RecoveryReport:
        """Return the findings after the check of all runners and the restarts of sessions, or after ten seconds.

        Slow restarts go on in the background.
        """
        end = asyncio.get_running_loop().time() + _CHECK_SECONDS_MAX
        try:
            async with asyncio.timeout_at(end):
                await self.runners_checked.wait()
        except TimeoutError:
            pass  # very many runners: show the findings so far
        else:
            await self._recover(end - asyncio.get_running_loop().time())
        return await self._store.read(self._describe)

    def _describe(self, tx: Tx) -> ops.RecoveryReport:
        found = [
            (at_start, session)
            for at_start in self._sessions or ()
            if (session := tx.sessions.get(at_start.id)) is not None
        ]
        runs_now = [run for run_id in self._run_ids if (run := tx.runs.get(run_id)) is not None]
        projects = {session.project_id: tx.projects.get(session.project_id) for _, session in found}
        return ops.RecoveryReport(
            started_at=self._started_at,
            rebooted=self._has_rebooted,
            sessions=[
                FoundSession(
                    id=session.id,
                    name=session.name,
                    project=project.name if (project := projects[session.project_id]) else "",
                    mode=session.mode,
                    state=self._fate_of(tx, at_start, session),
                    status=session.status,
                )
                for at_start, session in found
            ],
            runs=[_found_run(tx, run) for run in runs_now],
        )

    def _fate_of(self, tx: Tx, at_start: _FoundAtStart, session: Session) -> FoundSessionState:
        spawn = tx.spawns.get(session.id)
        if session.ended_at is not None:
            route = tx.sessions.mail_route(session.id)
            if route is not None and route.resumes:
                return FoundSessionState.RESUMING
            if session.status is not SessionStatus.LOST:
                return FoundSessionState.ENDED
            return FoundSessionState.REDONE if notices.belongs_to_live_run(tx, session) else FoundSessionState.LOST
        if spawn is not None and at_start.epoch is not None and spawn.epoch > at_start.epoch:
            return FoundSessionState.RESUMED
        if session.pid is not None and not sessions.is_process_running(session):
            # A spawned session has ended, although the runner's last report is still to come.
            return FoundSessionState.ENDED if spawn is not None else FoundSessionState.SILENT
        is_alive = spawn is not None or session.pid is not None or self._signs_of_life.was_heard_within(session.id)
        return FoundSessionState.ALIVE if is_alive else FoundSessionState.SILENT


def _found_run(tx: Tx, run: Run) -> FoundRun:
    tasks = runs.tasks_with_attempts(tx, run)
    task = tx.tasks.get(run.task_id)
    return FoundRun(
        id=run.id,
        task=task.ref if task else run.task_id,
        status=run.status,
        completed=sum(standing.task.status is TaskStatus.COMPLETED for standing in tasks),
        tasks=len(tasks),
    )
