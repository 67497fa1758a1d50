"""Tasks and their moves: one transition table, one function per move. Pure.

                start             complete, no gates
        todo ─────────► in_progress ─────────────────► completed
         ▲ │  release/expire │  │ complete, gates open     ▲
         │ └──◄──────────────┘  └────────► in_review ──────┘ accept
         │ block / unblock         reject ◄───┘
         └────► blocked       fail ► failed      cancel ► cancelled
reopen: completed, failed, cancelled ─► todo        roll_up: todo, in_progress ─► completed, in_review
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

import msgspec

from maestro.core import errors
from maestro.domain.events import EventKind, NewEvent
from maestro.domain.priorities import Priority


class TaskStatus(enum.StrEnum):
    """The status of a task. *Ready* is derived, *archived* is a flag."""

    TODO = "todo"
    IN_PROGRESS = "in_progress"
    IN_REVIEW = "in_review"
    COMPLETED = "completed"
    FAILED = "failed"
    BLOCKED = "blocked"
    CANCELLED = "cancelled"


FINAL_STATUSES = frozenset({TaskStatus.COMPLETED, TaskStatus.FAILED, TaskStatus.CANCELLED})

TRANSITIONS: dict[str, dict[TaskStatus, frozenset[TaskStatus]]] = {
    "start": {TaskStatus.TODO: frozenset({TaskStatus.IN_PROGRESS})},
    "release": {TaskStatus.IN_PROGRESS: frozenset({TaskStatus.TODO})},
    "expire": {
        TaskStatus.IN_PROGRESS: frozenset({TaskStatus.TODO}),
        TaskStatus.BLOCKED: frozenset({TaskStatus.BLOCKED}),
    },
    "complete": {
        TaskStatus.IN_PROGRESS: frozenset({TaskStatus.COMPLETED, TaskStatus.IN_REVIEW}),
        TaskStatus.IN_REVIEW: frozenset({TaskStatus.COMPLETED}),
    },
    "roll_up": {
        TaskStatus.TODO: frozenset({TaskStatus.COMPLETED, TaskStatus.IN_REVIEW}),
        TaskStatus.IN_PROGRESS: frozenset({TaskStatus.COMPLETED, TaskStatus.IN_REVIEW}),
    },
    "reject": {TaskStatus.IN_REVIEW: frozenset({TaskStatus.IN_PROGRESS, TaskStatus.TODO})},
    "block": {
        TaskStatus.TODO: frozenset({TaskStatus.BLOCKED}),
        TaskStatus.IN_PROGRESS: frozenset({TaskStatus.BLOCKED}),
    },
    "unblock": {TaskStatus.BLOCKED: frozenset({TaskStatus.TODO, TaskStatus.IN_PROGRESS})},
    "fail": {
        TaskStatus.IN_PROGRESS: frozenset({TaskStatus.FAILED}),
        TaskStatus.IN_REVIEW: frozenset({TaskStatus.FAILED}),
        TaskStatus.BLOCKED: frozenset({TaskStatus.FAILED}),
    },
    "cancel": {
        status: frozenset({TaskStatus.CANCELLED})
        for status in (
            TaskStatus.TODO,
            TaskStatus.IN_PROGRESS,
            TaskStatus.IN_REVIEW,
            TaskStatus.BLOCKED,
            TaskStatus.FAILED,
        )
    },
    "reopen": {status: frozenset({TaskStatus.TODO}) for status in FINAL_STATUSES},
}
# Moves that a caller can request by name; only the server makes the other moves.
_REQUESTABLE_MOVES = ("start", "release", "complete", "reject", "block", "unblock", "fail", "cancel", "reopen")


DEFAULT_STAGES = ("plan", "implement", "verify", "package")


class Task(msgspec.Struct, frozen=True):
    """A unit of work."""

    id: str
    project_id: str
    ref: str  # vc#12
    number: int
    title: str
    description: str
    status: TaskStatus
    priority: Priority
    ready: bool
    stage: str | None
    parent_id: str | None
    found_in: str | None
    member: str | None
    accept: list[str]
    gates: list[str]
    archived: bool
    reason: str
    holder: str | None  # the holder of the claim: a session's id, or the person's name
    holder_name: str | None  # the name of the session that holds the claim
    fence: int
    lease_seconds: int | None
    lease_until: datetime | None
    open_blockers: int
    stage_held: bool
    created_by: str
    created_at: datetime
    updated_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    from_project_id: str | None = None  # an issue: the project that opened it


class TaskMove(msgspec.Struct, frozen=True):
    """A task before and after one move, and the events of the move for the log."""

    before: Task
    after: Task
    events: tuple[NewEvent, ...]


def require_move(task: Task, move: str) -> None:
    """Refuse a move that the table does not allow; the error names the allowed moves."""
    if task.status in TRANSITIONS[move]:
        return
    allowed = [name for name in _REQUESTABLE_MOVES if task.status in TRANSITIONS[name]]
    raise errors.IllegalMove(
        f"Task {task.ref} is {task.status}: the move {move} is not possible.",
        hint=f"Possible moves of a task that is {task.status}: {', '.join(allowed)}.",
        data={"id": task.id, "status": task.status, "move": move, "allowed": allowed},
    )


def start(
    task: Task, *, holder: str, holder_name: str | None = None, lease_seconds: int | None, at: datetime
) -> TaskMove:
    """Move todo → in_progress with a claim: a new fence, and a lease for a session but not for a person."""
    require_move(task, "start")
    fence = task.fence + 1
    until = at + timedelta(seconds=lease_seconds) if lease_seconds is not None else None
    return _make_move(
        task,
        "start",
        TaskStatus.IN_PROGRESS,
        EventKind.TASK_STARTED,
        at=at,
        data={"holder": holder, "fence": fence},
        holder=holder,
        holder_name=holder_name,
        fence=fence,
        lease_seconds=lease_seconds,
        lease_until=until,
        started_at=at,
        reason="",
    )


def release(task: Task, *, at: datetime) -> TaskMove:
    """Move in_progress → todo: the holder gives the task back."""
    require_move(task, "release")
    return _make_move(task, "release", TaskStatus.TODO, EventKind.TASK_RELEASED, at=at, **_UNCLAIMED)


def expire(task: Task, *, at: datetime) -> TaskMove:
    """Remove an expired claim: in_progress → todo; a blocked task stays blocked."""
    require_move(task, "expire")
    to = TaskStatus.TODO if task.status is TaskStatus.IN_PROGRESS else task.status
    data = {"holder": task.holder, "fence": task.fence}
    return _make_move(task, "expire", to, EventKind.TASK_CLAIM_EXPIRED, at=at, data=data, **_UNCLAIMED)


def complete(task: Task, *, accepted: bool = False, merges: bool = False, at: datetime) -> TaskMove:
    """Move in_progress → completed, or → in_review for gates or a merge; in_review → completed once accepted."""
    require_move(task, "complete")
    return _complete_or_review(task, "complete", accepted=accepted, merges=merges, at=at)


def roll_up(task: Task, *, at: datetime) -> TaskMove:
    """Complete a parent whose children have all completed, or move it to in_review for its own gates."""
    require_move(task, "roll_up")
    return _complete_or_review(task, "roll_up", accepted=False, at=at)


def reject(task: Task, *, reason: str, at: datetime) -> TaskMove:
    """Move in_review → in_progress for the holder, or → todo if the task has no holder."""
    require_move(task, "reject")
    to = TaskStatus.IN_PROGRESS if task.holder else TaskStatus.TODO
    data = {"holder": task.holder, "reason": reason}
    # The review may have taken longer than the lease, so the holder gets the full lease again.
    until = at + timedelta(seconds=task.lease_seconds) if task.lease_seconds else task.lease_until
    return _make_move(task, "reject", to, EventKind.TASK_REJECTED, at=at, data=data, reason=reason, lease_until=until)


def block(task: Task, *, reason: str, at: datetime) -> TaskMove:
    """Move todo or in_progress → blocked, for a cause outside Maestro; the holder keeps the claim."""
    require_move(task, "block")
    return _make_move(
        task, "block", TaskStatus.BLOCKED, EventKind.TASK_BLOCKED, at=at, data={"reason": reason}, reason=reason
    )


def unblock(task: Task, *, at: datetime) -> TaskMove:
    """Move blocked → in_progress for the holder, or → todo if the task has no holder."""
    require_move(task, "unblock")
    to = TaskStatus.IN_PROGRESS if task.holder else TaskStatus.TODO
    return _make_move(task, "unblock", to, EventKind.TASK_UNBLOCKED, at=at, reason="")


def fail(task: Task, *, reason: str, at: datetime) -> TaskMove:
    """Move in_progress, in_review or blocked → failed. Dependent tasks stay blocked and name the cause."""
    require_move(task, "fail")
    data = {"reason": reason}
    return _make_move(
        task,
        "fail",
        TaskStatus.FAILED,
        EventKind.TASK_FAILED,
        at=at,
        data=data,
        reason=reason,
        finished_at=at,
        **_UNCLAIMED,
    )


def cancel(task: Task, *, reason: str, at: datetime) -> TaskMove:
    """Move every status but completed → cancelled. Dependent tasks stay blocked and name the cause."""
    require_move(task, "cancel")
    data = {"reason": reason}
    kind = EventKind.TASK_CANCELLED
    return _make_move(
        task, "cancel", TaskStatus.CANCELLED, kind, at=at, data=data, reason=reason, finished_at=at, **_UNCLAIMED
    )


def reopen(task: Task, *, at: datetime) -> TaskMove:
    """Move completed, failed or cancelled → todo."""
    require_move(task, "reopen")
    return _make_move(
        task, "reopen", TaskStatus.TODO, EventKind.TASK_REOPENED, at=at, reason="", finished_at=None, **_UNCLAIMED
    )


MOVES: dict[str, Callable[..., TaskMove]] = {
    "start": start,
    "release": release,
    "expire": expire,
    "complete": complete,
    "roll_up": roll_up,
    "reject": reject,
    "block": block,
    "unblock": unblock,
    "fail": fail,
    "cancel": cancel,
    "reopen": reopen,
}


def is_lease_over(task: Task, at: datetime) -> bool:
    """Return whether the lease has expired, although no move has removed the claim yet."""
    return (
        task.lease_until is not None
        and task.lease_until <= at
        and task.status in (TaskStatus.IN_PROGRESS, TaskStatus.BLOCKED)
    )


_UNCLAIMED = {"holder": None, "holder_name": None, "lease_seconds": None, "lease_until": None}


def _complete_or_review(task: Task, move: str, *, accepted: bool, merges: bool = False, at: datetime) -> TaskMove:
    if (task.gates or merges) and not accepted:
        return _make_move(task, move, TaskStatus.IN_REVIEW, EventKind.TASK_IN_REVIEW, at=at, reason="")
    data = {"accepted": True} if accepted and task.status is TaskStatus.IN_REVIEW else {}
    done = {"reason": "", "finished_at": at, **_UNCLAIMED}
    return _make_move(task, move, TaskStatus.COMPLETED, EventKind.TASK_COMPLETED, at=at, data=data, **done)


def _make_move(
    task: Task,
    move: str,
    to: TaskStatus,
    kind: EventKind,
    *,
    at: datetime,
    data: Mapping[str, object] | None = None,
    **fields: object,
) -> TaskMove:
    assert to in TRANSITIONS[move][task.status], f"{move} may not lead from {task.status} to {to}"
    after = msgspec.structs.replace(task, status=to, updated_at=at, **fields)
    after = msgspec.structs.replace(after, ready=is_ready(after))
    event_data = {"ref": task.ref, "from": task.status.value, "status": to.value, **(data or {})}
    return TaskMove(task, after, (NewEvent(kind, task.id, task.project_id, event_data),))


def is_ready(task: Task) -> bool:
    """Return whether a task is todo and waits on no open task or stage."""
    return task.status is TaskStatus.TODO and task.open_blockers == 0 and not task.stage_held
