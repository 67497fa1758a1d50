"""Describe why a run waits: tasks that are blocked, held outside the run, or dependent on tasks outside the run."""

from __future__ import annotations

from collections.abc import Sequence

from maestro.core import limits
from maestro.domain.runs import Run, TaskAttempts
from maestro.domain.tasks import Task, TaskStatus
from maestro.store.base import Tx

_NAMED_MAX = 5
_ENDED_BADLY = (TaskStatus.FAILED, TaskStatus.CANCELLED)


def waiting_reasons(tx: Tx, run: Run, standings: Sequence[TaskAttempts]) -> tuple[str, str]:
    """Return two lines: what the run waits for, and which outside tasks have ended without completion."""
    waits: list[str] = []
    stuck: list[str] = []
    for standing in standings:
        task = standing.task
        if task.status is TaskStatus.BLOCKED:
            waits.append(f"{task.ref} is blocked" + (f": {task.reason}" if task.reason else "") + ".")
        elif task.status is TaskStatus.IN_PROGRESS and task.holder and not standing.is_running:
            waits.append(f"{task.ref} is held by {holder_name(tx, task)}.")
        elif task.status is TaskStatus.TODO and task.open_blockers:
            for blocker in _outside_blockers(tx, run, task):
                (stuck if blocker.status in _ENDED_BADLY else waits).append(
                    f"{task.ref} waits on {blocker.ref} ({blocker.status})."
                )
        if len(waits) + len(stuck) >= _NAMED_MAX:
            break
    return " ".join(waits)[: limits.run_note_chars_max - 10], " ".join(stuck)[: limits.run_note_chars_max - 10]


def holder_name(tx: Tx, task: Task) -> str:
    """Return the name of the session or person that holds the task."""
    route = tx.sessions.mail_route(task.holder) if task.holder else None
    return route.name if route is not None else task.holder or ""


def _outside_blockers(tx: Tx, run: Run, task: Task) -> list[Task]:
    blockers = tx.tasks.list_blockers(task.id, limit=limits.blockers_shown_max)
    return [blocker for blocker in blockers if not _belongs_to_run(tx, run, blocker)]


def _belongs_to_run(tx: Tx, run: Run, task: Task) -> bool:
    ancestor: Task | None = task
    for _ in range(limits.task_depth_max):
        if ancestor is None or ancestor.id == run.task_id:
            break
        ancestor = tx.tasks.get(ancestor.parent_id) if ancestor.parent_id else None
    return ancestor is not None and ancestor.id == run.task_id
