"""Move runs forward: start ready tasks, record the outcome of attempts, start further attempts, and end runs.

No model is asked. Every step is decided from the store alone, so a restarted server continues where the last stopped.
"""

from __future__ import annotations

import asyncio
import logging
from datetime import datetime, timedelta

import msgspec

from maestro.core import errors, limits
from maestro.core.clock import Clock
from maestro.domain import runs as rules
from maestro.domain import tasks as task_rules
from maestro.domain.callers import SERVER_CALLER, SERVER_NAME
from maestro.domain.events import EventKind, NewEvent
from maestro.domain.runs import Attempt, AttemptOutcome, Run, RunStatus, RunStrategy, TaskAttempts
from maestro.domain.sessions import SessionStatus
from maestro.domain.tasks import FINAL_STATUSES, Task, TaskStatus
from maestro.operations import spawning as spawn_ops
from maestro.operations import task_shapes
from maestro.services.runs import control as runs
from maestro.services.runs import rights
from maestro.services.runs import wait_reasons as run_waits
from maestro.services.supervision.background_starts import BackgroundStarts
from maestro.services.supervision.launch import ProgramLauncher
from maestro.services.supervision.spawn import Spawner
from maestro.services.supervision.stop import ProgramStopper
from maestro.services.tasks import moves
from maestro.services.tasks.consequences import TaskConsequences
from maestro.store.base import Store, Tx

log = logging.getLogger(__name__)
_OUTCOMES = {
    TaskStatus.COMPLETED: AttemptOutcome.COMPLETED,
    TaskStatus.CANCELLED: AttemptOutcome.STOPPED,
    TaskStatus.FAILED: AttemptOutcome.FAILED,
}
_CLAIM_ENDS = (EventKind.TASK_RELEASED, EventKind.TASK_CLAIM_EXPIRED)


class RunDispatchJob:
    """A job that checks every live run when an event may concern a run."""

    name = "run-dispatch"

    def __init__(
        self, store: Store, spawning: Spawner, launching: ProgramLauncher, stopping: ProgramStopper, *, clock: Clock
    ) -> None:
        self._store = store
        self._spawning = spawning
        self._starts = BackgroundStarts(launching)  # without a common bound: each run bounds its own sessions
        self._stopping = stopping
        self._clock = clock

    async def run_once(self) -> datetime | None:
        """Advance every live run. While live runs exist, the next round comes after a fixed time at the latest."""
        due = [await self._advance_run(run) for run in await self._store.read(_live_runs, quick=True)]
        if not due:
            return None
        latest = self._clock.now() + timedelta(seconds=limits.run_check_seconds)
        return min((at for at in due if at is not None), default=latest)

    async def close(self) -> None:
        """Stop starting sessions. The next server finds and starts a session whose start was cut short."""
        await self._starts.close()

    async def _advance_run(self, run: Run) -> datetime | None:
        """Record ended attempts of the run and start ready tasks. Return when to check again, if known."""
        plan, starts, losers = await self._store.write(lambda tx: self._take_step(tx, run.id))
        await self._stopping.stop_programs(losers, by=f"the end of {run.id}")
        if plan is None or plan.final_status is not None:
            return None
        results = await asyncio.gather(*(self._start_attempt(start) for start in starts))
        limit_problem = next((result.problem for result in results if result.is_full), "")
        if limit_problem or (run.note and any(result.session_id for result in results)):
            note = f"Waits for room. {limit_problem}" if limit_problem else ""
            await self._store.write(lambda tx: _set_waiting_note(tx, run, note))
        if any(result.problem and not result.is_full for result in results):
            return await self._advance_run(run)  # a refused start counts as an attempt, so the run may be over now
        return plan.check_again_at

    def _take_step(self, tx: Tx, run_id: str) -> tuple[rules.RunPlan | None, list[_Start], list[str]]:
        """Return the plan of the run, the attempts to start, and the sessions to stop."""
        run = tx.runs.get(run_id)
        if run is None or run.status is not RunStatus.RUNNING:
            return None, [], []
        for attempt in tx.runs.attempts_without_task(run.id):
            _end_attempt_at_deleted_task(tx, run, attempt)
        for standing in runs.running_tasks(tx, run):
            if standing.is_running:
                self._settle_attempt(tx, run, standing)
        standings, plan = _plan_step(tx, run)
        if plan.final_status is not None:
            return plan, [], self._finish_run(tx, run, standings, plan)
        if not plan.tasks_to_start and not any(standing.is_running for standing in standings):
            _set_waiting_note(tx, run, plan.note)
        counts = {standing.task.id: len(standing.attempts) for standing in standings}
        notes = {standing.task.id: standing.note for standing in standings}
        return plan, [_Start(run, task, counts[task.id] + 1, notes[task.id]) for task in plan.tasks_to_start], []

    async def _start_attempt(self, start: _Start) -> _StartResult:
        """Start a session for the task. Each start has its own transaction, so a refused start leaves no rows."""
        try:
            session_id = await self._store.write(lambda tx: self._spawn_session(tx, start))
        except errors.LimitReached as error:
            return _StartResult(problem=str(error), is_full=True)
        except (errors.NotReady, errors.ClaimLost, errors.IllegalMove):
            return _StartResult()  # another session has claimed the task; the end of that claim leads to a new check
        except errors.StorageFailed:
            raise
        except errors.MaestroError as error:
            problem = str(error)
            log.warning("%s cannot start %s: %s", start.run.id, start.task.ref, problem)
            await self._store.write(lambda tx: _record_refused_start(tx, start, problem))
            return _StartResult(problem=problem)
        if session_id is not None:
            self._starts.start_program(session_id)
        return _StartResult(session_id=session_id)

    def _settle_attempt(self, tx: Tx, run: Run, standing: TaskAttempts) -> None:
        """Record the outcome of the last attempt if it is over. Reopen a failed task while attempts are left."""
        task, attempt = standing.task, standing.attempts[-1]
        outcome, note = _outcome(tx, task, attempt)
        if outcome is None:
            return
        if outcome is not AttemptOutcome.COMPLETED:
            note = note or _failure_note(tx, task, attempt)
        runs.settle_attempt(tx, run, task, attempt, outcome, note=note)
        ended = msgspec.structs.replace(attempt, outcome=outcome, note=note, ended_at=tx.at)
        now = msgspec.structs.replace(standing, attempts=[*standing.attempts[:-1], ended])
        if (
            task.status is TaskStatus.FAILED
            and now.failures < run.attempts_max
            and run.strategy is not RunStrategy.RACE
        ):
            moves.reopen_task(tx, SERVER_CALLER, task_shapes.OneTask(id=task.id))

    def _spawn_session(self, tx: Tx, start: _Start) -> str | None:
        """Claim the task and spawn its session in one transaction, so that no other session can claim in between."""
        run = tx.runs.get(start.run.id)
        task = tx.tasks.get(start.task.id) or start.task  # read again: lists cut the description
        if run is None or run.status is not RunStatus.RUNNING:
            return None  # the run was stopped just now
        starter = rights.starter_of(tx, run)
        if starter is None:
            return None  # the coordinator is being restarted; its start leads to a new check of the run
        request = spawn_ops.SpawnSession(
            project=run.project_id,
            task=[task.id],
            member=[name for name in (run.member or task.member,) if name],
            tool=run.tool,
            arguments=run.arguments,
            name=_session_name(tx, start),
            subject=task.title,
            message=_directive(task, start),
            path=run.directory,
            worktree=run.worktrees,
            allow=run.allow,
            asks=run.asks,
        )
        session = self._spawning.spawn_session(tx, starter, request, run_id=run.id)
        tx.runs.insert_attempt(_attempt(start, tx.at, session_id=session.id))
        return session.id

    def _finish_run(self, tx: Tx, run: Run, standings: list[TaskAttempts], plan: rules.RunPlan) -> list[str]:
        """End the run. Return the ids of the sessions that still work for the run and must be stopped."""
        assert plan.final_status is not None
        runs.end_run(tx, run, plan.final_status, note=plan.note, actor=SERVER_NAME)
        if run.strategy is RunStrategy.RACE:
            self._decide_race(tx, run, standings)
        return [standing.attempts[-1].session_id for standing in standings if standing.is_running]

    def _decide_race(self, tx: Tx, run: Run, standings: list[TaskAttempts]) -> None:
        """Cancel the slower tasks, leave failed tasks as they are, and complete the parent if a task has won."""
        winner = next((standing for standing in standings if standing.task.status is TaskStatus.COMPLETED), None)
        reason = "another attempt was faster" if winner is not None else "the race is over"
        for standing in standings:
            task = tx.tasks.get(standing.task.id)
            if task is not None and task.status not in FINAL_STATUSES:
                moves.cancel_task(tx, SERVER_CALLER, task_shapes.ReasonedTask(id=task.id, reason=reason))
        root = tx.tasks.get(run.task_id)
        if winner is not None and root is not None:
            _complete_race_task(tx, root)


class _Start(msgspec.Struct, frozen=True):
    """An attempt that may be started now."""

    run: Run
    task: Task
    number: int  # of the attempt, from 1
    note: str  # why the attempt before failed


class _StartResult(msgspec.Struct, frozen=True):
    """The result of a start: a session, a problem, or neither when the task is no longer free."""

    session_id: str | None = None
    problem: str = ""
    is_full: bool = False  # a limit was reached: the start may succeed when other sessions have ended


def _live_runs(tx: Tx) -> list[Run]:
    live = page = tx.runs.list_live(limit=limits.page_items_max)
    while len(page) == limits.page_items_max:
        page = tx.runs.list_live(after=page[-1].id, limit=limits.page_items_max)
        live = live + page
    return live


def _attempt(start: _Start, at: datetime, *, session_id: str) -> Attempt:
    return Attempt(
        run_id=start.run.id,
        task_id=start.task.id,
        number=start.number,
        session_id=session_id,
        outcome=None,
        started_at=at,
        ended_at=None,
    )


def _record_refused_start(tx: Tx, start: _Start, problem: str) -> None:
    """Count a refused start as an attempt, so that a run does not repeat the start for ever."""
    run = tx.runs.get(start.run.id)
    if run is None or run.status is not RunStatus.RUNNING:
        return
    note = problem[: limits.run_note_chars_max]
    attempt = _attempt(start, tx.at, session_id="")
    tx.runs.insert_attempt(
        msgspec.structs.replace(attempt, outcome=AttemptOutcome.REFUSED, note=note, ended_at=tx.at)
    )
    runs.log_attempt(tx, run, start.task, attempt, AttemptOutcome.REFUSED, note=note)


def _end_attempt_at_deleted_task(tx: Tx, run: Run, attempt: Attempt) -> None:
    """End an attempt as stopped because its task was deleted."""
    note = "Its task was deleted."
    tx.runs.end_attempt(attempt, AttemptOutcome.STOPPED, note=note, at=tx.at)
    data = {"task": attempt.task_id, "attempt": attempt.number, "outcome": AttemptOutcome.STOPPED.value, "note": note}
    tx.log(NewEvent(EventKind.RUN_ATTEMPT, run.id, run.project_id, data), actor=SERVER_NAME)


def _set_waiting_note(tx: Tx, run: Run, note: str) -> None:
    """Store why the run waits; an empty note means that the run no longer waits."""
    if tx.runs.set_note(run.id, note) and note:
        tx.log(NewEvent(EventKind.RUN_WAITING, run.id, run.project_id, {"note": note}), actor=SERVER_NAME)


def _session_name(tx: Tx, start: _Start) -> str:
    """Name the session after task and attempt, as in t12.1. If the name is taken, put the run's id in front."""
    short = f"t{start.task.number}.{start.number}"
    is_free = tx.sessions.by_name(start.run.project_id, short) is None
    return short if is_free else f"{start.run.id[-6:]}-{short}"


def _directive(task: Task, start: _Start) -> str:
    """Return the description of the task; for a further attempt, also why the last attempt failed."""
    if not start.note:
        return task.description
    last_attempt = (
        f"This is attempt {start.number}. The attempt before it failed: {start.note}\n"
        f"See: maestro task show {task.ref}"
    )
    return f"{task.description}\n\n{last_attempt}".strip()


def _plan_step(tx: Tx, run: Run) -> tuple[list[TaskAttempts], rules.RunPlan]:
    """Plan the next step of the run.

    Running and ready tasks suffice for a plan while any exist. Only the whole run can be judged as over.
    """
    withdrawal = _plan_for_withdrawn_task(tx, run)
    if withdrawal is not None:
        return runs.tasks_with_attempts(tx, run), withdrawal
    running = runs.running_tasks(tx, run)
    room = rules.free_slots(run, [standing for standing in running if standing.is_running])
    for count in (2 * room, limits.run_tasks_moving_max):  # a few suffice, unless they wait for their next attempt
        standings = running + runs.startable_tasks(tx, run, limit=count if room else 0)
        plan = rules.plan_run(run, standings, tx.at)
        if len(plan.tasks_to_start) >= room or len(standings) < len(running) + count:
            break
    if plan.final_status is None and (plan.tasks_to_start or any(standing.is_running for standing in standings)):
        return standings, plan
    standings = runs.tasks_with_attempts(tx, run)
    if len(standings) > limits.run_tasks_max:
        note = f"The run has grown beyond {limits.run_tasks_max} tasks."
        return standings, rules.RunPlan(final_status=RunStatus.FAILED, note=note)
    return standings, _add_waits(tx, run, standings, rules.plan_run(run, standings, tx.at))


def _add_waits(tx: Tx, run: Run, standings: list[TaskAttempts], plan: rules.RunPlan) -> rules.RunPlan:
    """Let a run without startable tasks wait for work outside the run, and name that work in the note.

    If the outside work cannot end well, the plan keeps its verdict and the note names the reason.
    """
    if plan.tasks_to_start or plan.final_status not in (None, RunStatus.FAILED) or run.strategy is RunStrategy.RACE:
        return plan
    waits, stuck = run_waits.waiting_reasons(tx, run, standings)
    if waits:
        return rules.RunPlan(check_again_at=plan.check_again_at, note=f"Waits. {waits}")
    note = f"{plan.note} {stuck}"[: limits.run_note_chars_max] if stuck and plan.final_status else plan.note
    return msgspec.structs.replace(plan, note=note)


def _complete_race_task(tx: Tx, root: Task) -> None:
    """Complete the task of a won race, whatever has failed below it. The winner has passed the gates already."""
    outcome = TaskConsequences(tx, SERVER_CALLER)
    if root.status in task_rules.TRANSITIONS["roll_up"] and not root.open_blockers and not root.stage_held:
        root = outcome.apply_move(task_rules.roll_up(root, at=tx.at))
    if root.status is TaskStatus.IN_REVIEW:
        outcome.apply_move(task_rules.complete(root, accepted=True, at=tx.at))


def _plan_for_withdrawn_task(tx: Tx, run: Run) -> rules.RunPlan | None:
    """Return the plan that ends a run whose task was deleted or cancelled; None for any other run."""
    root = tx.tasks.get(run.task_id)
    if root is None:
        return rules.RunPlan(final_status=RunStatus.FAILED, note="Its task was deleted.")
    if root.status is TaskStatus.CANCELLED:
        return rules.RunPlan(final_status=RunStatus.STOPPED, note=_cancellation_note(root))
    return None


def _cancellation_note(task: Task) -> str:
    return f"{task.ref} was cancelled" + (f": {task.reason}" if task.reason else ".")


def _outcome(tx: Tx, task: Task, attempt: Attempt) -> tuple[AttemptOutcome | None, str]:
    """Return the outcome of the attempt, and a note if the task gives no reason.

    The outcome is None while the attempt or its gates go on.
    """
    session = tx.sessions.mail_route(attempt.session_id)
    is_live = session is not None and session.is_live
    if is_live and rules.has_lost_task(task, attempt):
        return rules.outcome_of_lost_task(attempt, tx.events.newest_of_subject(task.id, kinds=_CLAIM_ENDS))
    if is_live or task.status is TaskStatus.IN_REVIEW or task.status in _OUTCOMES:
        return _OUTCOMES.get(task.status), ""
    if session is not None and session.status is SessionStatus.STOPPED:
        return AttemptOutcome.STOPPED, ""
    return (
        AttemptOutcome.LOST if session is None or session.status is SessionStatus.LOST else AttemptOutcome.FAILED,
        "",
    )


def _failure_note(tx: Tx, task: Task, attempt: Attempt) -> str:
    """Return in one line why the attempt failed: the reason of the task, else the last output of the program."""
    if task.status is TaskStatus.CANCELLED:
        return _cancellation_note(task)[: limits.run_note_chars_max]
    spawn = tx.spawns.get(attempt.session_id)
    text = task.reason or (spawn.tail if spawn else None) or ""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")[: limits.run_note_chars_max]
