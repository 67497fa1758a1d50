"""Runs: sessions work off a tree of tasks, and rules instead of a model decide which task starts next.

Pure: the rules get the present state of a run and return a plan.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec

from maestro.domain.conversations import AskPolicy
from maestro.domain.events import Event, EventKind
from maestro.domain.grants import Rights
from maestro.domain.tasks import FINAL_STATUSES, Task, TaskStatus


class RunStrategy(enum.StrEnum):
    """How a run works off its tasks."""

    DAG = "dag"  # every ready task, up to the limit
    BATCH = "batch"  # all ready tasks up to the limit; the next batch starts after the last task of the batch
    PIPELINE = "pipeline"  # one task after another
    RACE = "race"  # several attempts at one task; the first to pass wins


class RunStatus(enum.StrEnum):
    """The status of a run."""

    RUNNING = "running"
    STOPPED = "stopped"
    COMPLETED = "completed"
    FAILED = "failed"


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A run: sessions that work off a task and its children."""

    id: str
    project_id: str
    task_id: str
    strategy: RunStrategy
    max_parallel: int
    attempts_max: int
    member: str | None
    tool: str
    arguments: list[str] = []  # servers before schema 20 send `words`
    worktrees: bool
    directory: str
    branch: str | None  # the branch into which finished work is merged
    status: RunStatus
    note: str
    started_by: str
    created_at: datetime
    ended_at: datetime | None
    resumed_at: datetime | None = None  # only attempts since this time count
    allow: list[str] = []  # patterns of actions that the run's sessions may do without an ask
    asks: AskPolicy = AskPolicy.ASK  # what happens to permission requests that no pattern allows
    rights: Rights | None = None  # of the caller that started the run; None: an older Maestro started it


def describe_result(run: Run, *, has_completed_work: bool) -> str:
    """Return where the work of an ended run lies and how to merge it; empty if the run has no branch or no work."""
    if run.branch is None or run.status is RunStatus.RUNNING or not has_completed_work:
        return ""
    work = "The work" if run.status is RunStatus.COMPLETED else "The finished part of the work"
    return f"{work} is on {run.branch}. To merge it into your branch: git merge {run.branch}"


class AttemptOutcome(enum.StrEnum):
    """How an attempt ended."""

    COMPLETED = "completed"
    FAILED = "failed"
    LOST = "lost"
    STOPPED = "stopped"
    REFUSED = "refused"  # no session could be started


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt of a run at a task, by one session."""

    run_id: str
    task_id: str
    number: int
    session_id: str  # empty: no session could be started
    outcome: AttemptOutcome | None
    started_at: datetime
    ended_at: datetime | None
    note: str = ""  # why the attempt failed


_FAILED_OUTCOMES = (AttemptOutcome.FAILED, AttemptOutcome.LOST, AttemptOutcome.REFUSED)
_BACKOFF_SECONDS = 2
_BACKOFF_SECONDS_MAX = 300
_NAMED_TASKS_MAX = 20  # a note is a single line and cannot name all tasks


class TaskAttempts(msgspec.Struct, frozen=True):
    """A task of a run with its attempts, the newest last."""

    task: Task
    attempts: list[Attempt]
    counted_from: datetime | None = None  # attempts before this time do not count

    @property
    def is_running(self) -> bool:
        return bool(self.attempts) and self.attempts[-1].outcome is None

    @property
    def failures(self) -> int:
        return sum(attempt.outcome in _FAILED_OUTCOMES for attempt in self.attempts if self._counts(attempt))

    @property
    def note(self) -> str:
        """Return why the last attempt failed."""
        return self.attempts[-1].note if self.attempts else ""

    @property
    def retry_at(self) -> datetime | None:
        """Return when the next attempt may start: later after each failure. None means at once."""
        last = self.attempts[-1] if self.attempts else None
        if last is None or not self._counts(last) or last.outcome in (AttemptOutcome.LOST, AttemptOutcome.STOPPED):
            return None  # the task did not cause the end of the attempt
        seconds = min(_BACKOFF_SECONDS * 2 ** max(self.failures - 1, 0), _BACKOFF_SECONDS_MAX)
        return (last.ended_at or last.started_at) + timedelta(seconds=seconds)

    def _counts(self, attempt: Attempt) -> bool:
        return self.counted_from is None or attempt.started_at >= self.counted_from


def has_lost_task(task: Task, attempt: Attempt) -> bool:
    """Return whether an open task is no longer held by the session of its attempt."""
    return task.holder != attempt.session_id and task.status in (
        TaskStatus.TODO,
        TaskStatus.IN_PROGRESS,
        TaskStatus.BLOCKED,
    )


def outcome_of_lost_task(attempt: Attempt, last_claim_end: Event | None) -> tuple[AttemptOutcome, str]:
    """Return the outcome of an attempt that has lost its task, and the reason.

    `last_claim_end` is the last event that ended a claim on the task. The outcome `stopped` counts as no failure:
    other callers may take a task away any number of times.
    """
    if (
        last_claim_end is not None
        and last_claim_end.kind == EventKind.TASK_RELEASED
        and last_claim_end.actor == attempt.session_id
    ):
        return AttemptOutcome.FAILED, "The session released its task."
    if (
        last_claim_end is not None
        and last_claim_end.kind == EventKind.TASK_CLAIM_EXPIRED
        and last_claim_end.data.get("holder") == attempt.session_id
    ):
        return AttemptOutcome.LOST, "The session's claim on the task expired."
    return AttemptOutcome.STOPPED, "The task was taken away from the session."


class RunPlan(msgspec.Struct, frozen=True):
    """The next actions for a run."""

    tasks_to_start: list[Task] = []
    check_again_at: datetime | None = None  # when a retry is due
    final_status: RunStatus | None = None  # the final status, if the run is over
    note: str = ""


def plan_run(run: Run, task_attempts: Sequence[TaskAttempts], at: datetime) -> RunPlan:
    """Return the next actions for a run: start tasks, wait, or end the run."""
    running = [entry for entry in task_attempts if entry.is_running]
    final_plan = _final_plan(run, task_attempts, running)
    if final_plan is not None:
        return final_plan
    candidates = [entry for entry in task_attempts if entry.task.ready and not entry.is_running]
    remaining = [entry for entry in candidates if entry.failures < run.attempts_max]
    due = {entry.task.id: entry.retry_at or at for entry in remaining}
    ready = [entry.task for entry in remaining if due[entry.task.id] <= at]
    later = [due_at for due_at in due.values() if due_at > at]
    free = free_slots(run, running)
    ordered = sorted(ready, key=lambda task: (task.priority.rank, task.number))
    return RunPlan(tasks_to_start=ordered[:free], check_again_at=min(later, default=None))


def free_slots(run: Run, running: Sequence[TaskAttempts]) -> int:
    """Return how many more tasks the run may start now."""
    match run.strategy:
        case RunStrategy.PIPELINE:
            return 0 if running else 1
        case RunStrategy.BATCH:
            return 0 if running else run.max_parallel
        case _:
            return max(run.max_parallel - len(running), 0)


def _final_plan(run: Run, task_attempts: Sequence[TaskAttempts], running: Sequence[TaskAttempts]) -> RunPlan | None:
    """Return the plan that ends the run, if all tasks are completed or no open task can go on; else None."""
    if run.strategy is RunStrategy.RACE:
        return _final_race_plan(run, task_attempts, running)
    work = [entry for entry in task_attempts if entry.task.status is not TaskStatus.CANCELLED]
    if task_attempts and not work:
        return RunPlan(final_status=RunStatus.STOPPED, note="All tasks of the run were cancelled.")
    unfinished = [entry for entry in work if entry.task.status is not TaskStatus.COMPLETED]
    if not unfinished:
        return RunPlan(final_status=RunStatus.COMPLETED)
    if running or any(_can_go_on(run, entry) for entry in work):
        return None
    return RunPlan(final_status=RunStatus.FAILED, note=_describe_stuck_run(unfinished))


def _describe_stuck_run(unfinished: Sequence[TaskAttempts]) -> str:
    """Return a line that names the open tasks and the first known reason."""
    refs = ", ".join(entry.task.ref for entry in unfinished[:_NAMED_TASKS_MAX])
    return f"No open task can go on. Open: {refs}.{_first_note(unfinished)}"


def _final_race_plan(
    run: Run, task_attempts: Sequence[TaskAttempts], running: Sequence[TaskAttempts]
) -> RunPlan | None:
    if any(entry.task.status is TaskStatus.COMPLETED for entry in task_attempts):
        return RunPlan(final_status=RunStatus.COMPLETED)
    if running or any(_can_go_on(run, entry) for entry in task_attempts):
        return None
    return RunPlan(final_status=RunStatus.FAILED, note=f"No attempt has passed.{_first_note(task_attempts)}")


def _first_note(task_attempts: Sequence[TaskAttempts]) -> str:
    return next((f" {entry.task.ref}: {note}" for entry in task_attempts if (note := entry.note)), "")


def _can_go_on(run: Run, entry: TaskAttempts) -> bool:
    """Return whether a task will still change without a command of the person."""
    task = entry.task
    if task.status in (TaskStatus.IN_PROGRESS, TaskStatus.IN_REVIEW):
        return True
    return task.ready and entry.failures < run.attempts_max and task.status not in FINAL_STATUSES
