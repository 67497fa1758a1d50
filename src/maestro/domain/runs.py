"""Runs: a tree of tasks worked off by sessions, with no model in the loop: what may be started next.

Pure: a run is looked at as it stands, and the answer is what to do about it.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec

from maestro.domain.events import Event, Kind
from maestro.domain.grants import Rights
from maestro.domain.talks import Rest
from maestro.domain.tasks import FINAL, Status, Task


class Strategy(enum.StrEnum):
    """How a run works off its tasks."""

    DAG = "dag"  # whatever is ready, as many as fit
    BATCH = "batch"  # all that is ready together, then all that is ready then
    PIPELINE = "pipeline"  # one after another, each handing on to the next
    RACE = "race"  # several attempts at one task; the first to pass wins


class RunStatus(enum.StrEnum):
    """Where a run stands."""

    RUNNING = "running"
    STOPPED = "stopped"
    COMPLETED = "completed"
    FAILED = "failed"


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One run."""

    id: str
    project_id: str
    task_id: str
    strategy: Strategy
    max_parallel: int
    attempts_max: int
    member: str | None
    tool: str
    words: list[str]
    worktrees: bool
    directory: str
    branch: str | None  # where finished work comes together
    status: RunStatus
    note: str
    started_by: str
    created_at: datetime
    ended_at: datetime | None
    resumed_at: datetime | None = None  # tries are counted from here
    allow: list[str] = []  # what its sessions may do without anybody being asked
    asks: Rest = Rest.ASK  # what becomes of the rest they ask for
    rights: Rights | None = None  # of whoever started it; none: a run from before rights were kept


def landing(run: Run, *, is_something_done: bool) -> str:
    """Where the work of a run that is over is to be found, and how one gets it; empty where there is none."""
    if run.branch is None or run.status is RunStatus.RUNNING or not is_something_done:
        return ""
    what = "The work" if run.status is RunStatus.COMPLETED else "What was done"
    return f"{what} is on {run.branch}. To have it in your branch: git merge {run.branch}"


class Outcome(enum.StrEnum):
    """How an attempt ended."""

    COMPLETED = "completed"
    FAILED = "failed"
    LOST = "lost"
    STOPPED = "stopped"
    REFUSED = "refused"  # no session could be started


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """One session's try at one task of a run."""

    run_id: str
    task_id: str
    number: int
    session_id: str  # empty: none could be started
    outcome: Outcome | None
    started_at: datetime
    ended_at: datetime | None
    note: str = ""  # why it came to nothing


_FAILURES = (Outcome.FAILED, Outcome.LOST, Outcome.REFUSED)
_BACKOFF_SECONDS = 2
_BACKOFF_SECONDS_MAX = 300
_NAMED_MAX = 20  # a note is a line, not a list of everything


class Standing(msgspec.Struct, frozen=True):
    """A task of a run, with its attempts so far, the last one last."""

    task: Task
    attempts: list[Attempt]
    since: datetime | None = None  # what was tried before does not count

    @property
    def is_running(self) -> bool:
        return bool(self.attempts) and self.attempts[-1].outcome is None

    @property
    def failures(self) -> int:
        return sum(attempt.outcome in _FAILURES for attempt in self.attempts if self._counts(attempt))

    @property
    def note(self) -> str:
        """Why the last attempt came to nothing."""
        return self.attempts[-1].note if self.attempts else ""

    @property
    def retry_at(self) -> datetime | None:
        """When it may be tried again: after each failure later. None: at once."""
        last = self.attempts[-1] if self.attempts else None
        if last is None or not self._counts(last) or last.outcome in (Outcome.LOST, Outcome.STOPPED):
            return None  # it was not the task's fault
        seconds = min(_BACKOFF_SECONDS * 2 ** max(self.failures - 1, 0), _BACKOFF_SECONDS_MAX)
        return (last.ended_at or last.started_at) + timedelta(seconds=seconds)

    def _counts(self, attempt: Attempt) -> bool:
        return self.since is None or attempt.started_at >= self.since


def is_taken_away(task: Task, attempt: Attempt) -> bool:
    """Whether a task is open and no longer its try's: nobody has it, or someone else."""
    return task.holder != attempt.session_id and task.status in (Status.TODO, Status.IN_PROGRESS, Status.BLOCKED)


def taken_away(attempt: Attempt, last: Event | None) -> tuple[Outcome, str]:
    """How a try came out whose task is no longer its, and why; `last` is how claims on the task ended last.

    Only where others took it away, it may be tried as often as they do that.
    """
    if last is not None and last.kind == Kind.TASK_RELEASED and last.actor == attempt.session_id:
        return Outcome.FAILED, "It gave its task back."
    if last is not None and last.kind == Kind.TASK_CLAIM_EXPIRED and last.data.get("holder") == attempt.session_id:
        return Outcome.LOST, "Its claim ran out."
    return Outcome.STOPPED, "Its task was taken away from it."


class Plan(msgspec.Struct, frozen=True):
    """What to do about a run now."""

    start: list[Task] = []
    look_again: datetime | None = None  # when a retry is due
    verdict: RunStatus | None = None  # it is over, like this
    note: str = ""


def plan(run: Run, standing: Sequence[Standing], at: datetime) -> Plan:
    """What a run does next: starts, waits, or is over."""
    running = [one for one in standing if one.is_running]
    over = _verdict(run, standing, running)
    if over is not None:
        return over
    candidates = [one for one in standing if one.task.ready and not one.is_running]
    open_ones = [one for one in candidates if one.failures < run.attempts_max]
    due = {one.task.id: one.retry_at or at for one in open_ones}
    ready = [one.task for one in open_ones if due[one.task.id] <= at]
    later = [when for when in due.values() if when > at]
    free = room(run, running)
    ordered = sorted(ready, key=lambda task: (task.priority.rank, task.number))
    return Plan(start=ordered[:free], look_again=min(later, default=None))


def room(run: Run, running: Sequence[Standing]) -> int:
    """How many more may be started now."""
    match run.strategy:
        case Strategy.PIPELINE:
            return 0 if running else 1
        case Strategy.BATCH:
            return 0 if running else run.max_parallel
        case _:
            return max(run.max_parallel - len(running), 0)


def _verdict(run: Run, standing: Sequence[Standing], running: Sequence[Standing]) -> Plan | None:
    """Whether the run is over: everything done, or nothing left that could be."""
    if run.strategy is Strategy.RACE:
        return _race_verdict(run, standing, running)
    work = [one for one in standing if one.task.status is not Status.CANCELLED]
    if standing and not work:
        return Plan(verdict=RunStatus.STOPPED, note="All of its tasks were cancelled.")
    if all(one.task.status is Status.COMPLETED for one in work):
        return Plan(verdict=RunStatus.COMPLETED)
    if running or any(_can_go_on(run, one) for one in work):
        return None
    return Plan(
        verdict=RunStatus.FAILED, note=_stuck([one for one in work if one.task.status is not Status.COMPLETED])
    )


def _stuck(left: Sequence[Standing]) -> str:
    """Why a run cannot go on, in a line: what is open, and the first reason there is."""
    refs = ", ".join(one.task.ref for one in left[:_NAMED_MAX])
    why = next((f" {one.task.ref}: {note}" for one in left if (note := one.note)), "")
    return f"Nothing more can be done. Open: {refs}.{why}"


def _race_verdict(run: Run, standing: Sequence[Standing], running: Sequence[Standing]) -> Plan | None:
    if any(one.task.status is Status.COMPLETED for one in standing):
        return Plan(verdict=RunStatus.COMPLETED)
    if running or any(_can_go_on(run, one) for one in standing):
        return None
    why = next((f" {one.task.ref}: {note}" for one in standing if (note := one.note)), "")
    return Plan(verdict=RunStatus.FAILED, note=f"No attempt has passed.{why}")


def _can_go_on(run: Run, one: Standing) -> bool:
    """Whether something will still happen to a task by itself."""
    task = one.task
    if task.status in (Status.IN_PROGRESS, Status.IN_REVIEW):
        return True
    return task.ready and one.failures < run.attempts_max and task.status not in FINAL
