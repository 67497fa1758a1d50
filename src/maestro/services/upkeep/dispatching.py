"""Keeps runs going: starts what is ready, takes note of what ended, tries again, and says when a run is over.

No model is asked. Every step is decided on the store as it is, so a server that was killed goes on where it stood.
"""

from __future__ import annotations

import asyncio
import logging
from datetime import datetime

import msgspec

from maestro import errors, limits
from maestro.domain import runs as rules
from maestro.domain.callers import SERVER, THE_SERVER, Caller, person
from maestro.domain.events import Change, Kind
from maestro.domain.runs import Attempt, Outcome, Run, RunStatus, Standing, Strategy
from maestro.domain.sessions import Status as SessionStatus
from maestro.domain.tasks import Status, Task
from maestro.operations import spawning as spawn_ops
from maestro.operations import task_shapes
from maestro.services import moves, runs
from maestro.services.launching import Launching
from maestro.services.runners import Runners
from maestro.services.spawning import Spawning
from maestro.store.base import Store, Tx

log = logging.getLogger(__name__)


class Dispatching:
    """Looks at every live run when something happened that may concern it."""

    name = "dispatching"

    def __init__(self, store: Store, spawning: Spawning, launching: Launching, runners: Runners) -> None:
        self._store = store
        self._spawning = spawning
        self._launching = launching
        self._runners = runners

    async def run_once(self) -> datetime | None:
        live = await self._store.read(lambda tx: tx.runs.live(limit=limits.runs_live_max))
        due = [await self._go_on(run) for run in live]
        return min((when for when in due if when is not None), default=None)

    async def _go_on(self, run: Run) -> datetime | None:
        """One run: what ended is noted, what may start is started. When to look again at the latest."""
        plan, started, losers = await self._store.write(lambda tx: self._step(tx, run.id))
        for session_id in started:
            await self._launch(session_id)
        await runs.stop_sessions(self._runners, losers, by=f"the end of {run.id}")
        return plan.look_again if plan else None

    def _step(self, tx: Tx, run_id: str) -> tuple[rules.Plan | None, list[str], list[str]]:
        run = tx.runs.get(run_id)
        if run is None or run.status is not RunStatus.RUNNING:
            return None, [], []
        found = [self._settled(tx, run, one) for one in runs.standing(tx, run)]
        plan = rules.plan(run, found, tx.at)
        if plan.verdict is not None:
            return plan, [], self._finish(tx, run, found, plan)
        started = [session_id for task in plan.start if (session_id := self._start(tx, run, task, found))]
        return plan, started, []

    def _settled(self, tx: Tx, run: Run, one: Standing) -> Standing:
        """A task whose session has ended: how that attempt came out, and whether the task is open again."""
        if not one.is_running:
            return one
        attempt = one.attempts[-1]
        outcome = _outcome(tx, one.task, attempt)
        if outcome is None:
            return one
        note = _why(tx, one.task, attempt) if outcome is not Outcome.COMPLETED else ""
        tx.runs.end(attempt, outcome, note=note, at=tx.at)
        told = {"task": one.task.ref, "attempt": attempt.number, "outcome": outcome.value, "note": note}
        tx.log(Change(Kind.RUN_ATTEMPT, run.id, run.project_id, told), actor=SERVER)
        over = msgspec.structs.replace(attempt, outcome=outcome, note=note, ended_at=tx.at)
        now = msgspec.structs.replace(one, attempts=[*one.attempts[:-1], over])
        if one.task.status is Status.FAILED and now.failures < run.attempts_max and run.strategy is not Strategy.RACE:
            moves.reopen(tx, THE_SERVER, task_shapes.OneTask(id=one.task.id))
        return msgspec.structs.replace(now, task=tx.tasks.get(one.task.id) or one.task)

    def _start(self, tx: Tx, run: Run, task: Task, found: list[Standing]) -> str | None:
        """Claim and spawn in one transaction: nobody else can have the task in between."""
        number = 1 + max((len(one.attempts) for one in found if one.task.id == task.id), default=0)
        request = spawn_ops.SpawnSession(
            project=run.project_id,
            task=[task.id],
            member=[name for name in (run.member or task.member,) if name],
            tool=run.tool,
            words=run.words,
            name=f"{run.id[-6:]}-{task.number}-{number}",
            subject=task.title,
            message=task.description,
            path=run.directory,
            worktree=run.worktrees,
        )
        try:
            made = self._spawning.spawn(tx, _starter(tx, run), request, run_id=run.id)
        except errors.MaestroError as error:
            log.warning("%s cannot start %s: %s", run.id, task.ref, error)
            return None
        tx.runs.begin(
            Attempt(
                run_id=run.id,
                task_id=task.id,
                number=number,
                session_id=made.id,
                outcome=None,
                started_at=tx.at,
                ended_at=None,
            )
        )
        return made.id

    def _finish(self, tx: Tx, run: Run, found: list[Standing], plan: rules.Plan) -> list[str]:
        """The run is over; in a race the others are stopped, and the parent counts as done."""
        assert plan.verdict is not None
        runs.end(tx, run, plan.verdict, note=plan.note, actor=SERVER)
        if run.strategy is not Strategy.RACE:
            return []
        winner = next((one for one in found if one.task.status is Status.COMPLETED), None)
        losers = [one for one in found if one is not winner]
        for one in losers:
            task = tx.tasks.get(one.task.id)
            if task is not None and task.status not in (Status.COMPLETED, Status.CANCELLED):
                moves.cancel(
                    tx, THE_SERVER, task_shapes.ReasonedTask(id=task.id, reason="another attempt was faster")
                )
        root = tx.tasks.get(run.task_id)
        if winner is not None and root is not None and root.status is Status.IN_REVIEW:
            # Its gates are those that the winner has passed.
            moves.complete(tx, THE_SERVER, task_shapes.CompleteTask(id=root.id))
        return [one.attempts[-1].session_id for one in losers if one.is_running]

    async def _launch(self, session_id: str) -> None:
        try:
            await self._launching.start_or_fail(session_id)
        except (errors.MaestroError, OSError) as error:
            log.warning("%s could not be started: %s", session_id, error)
        await asyncio.sleep(0)


def _starter(tx: Tx, run: Run) -> Caller:
    """In whose name a run's sessions are started: a coordinator's are its workers."""
    return tx.sessions.caller(run.started_by) or person(run.started_by)


def _outcome(tx: Tx, task: Task, attempt: Attempt) -> Outcome | None:
    """How an attempt came out; None while it goes on, or its gates do."""
    if task.status is Status.COMPLETED:
        return Outcome.COMPLETED
    session = tx.sessions.route(attempt.session_id)
    if session is not None and session.is_live:
        return Outcome.FAILED if task.status is Status.FAILED else None
    if task.status is Status.IN_REVIEW:
        return None
    if task.status is Status.FAILED:
        return Outcome.FAILED
    if session is not None and session.status is SessionStatus.STOPPED:
        return Outcome.STOPPED
    return Outcome.LOST if session is None or session.status is SessionStatus.LOST else Outcome.FAILED


def _why(tx: Tx, task: Task, attempt: Attempt) -> str:
    """Why an attempt came to nothing, in a line: what its task says, else how its program ended."""
    spawn = tx.spawns.get(attempt.session_id)
    said = task.reason or (spawn.tail if spawn else None) or ""
    return next((line.strip() for line in said.splitlines() if line.strip()), "")[: limits.run_note_chars_max]
