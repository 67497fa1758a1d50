"""What a run waits for and cannot do itself: tasks that others hold, that are blocked, whose need is elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

from maestro.core import limits
from maestro.domain.runs import Run, Standing
from maestro.domain.tasks import Status, Task
from maestro.store.base import Tx

_NAMED_MAX = 5
_OVER = (Status.FAILED, Status.CANCELLED)


def why(tx: Tx, run: Run, found: Sequence[Standing]) -> tuple[str, str]:
    """In a line each: what may still come from others, and what will not by itself."""
    waits: list[str] = []
    stuck: list[str] = []
    for one in found:
        task = one.task
        if task.status is Status.BLOCKED:
            waits.append(f"{task.ref} is blocked" + (f": {task.reason}" if task.reason else "") + ".")
        elif task.status is Status.IN_PROGRESS and task.holder and not one.is_running:
            waits.append(f"{task.ref} is held by {holder_name(tx, task)}.")
        elif task.status is Status.TODO and task.open_blockers:
            for blocker in _outside(tx, run, task):
                (stuck if blocker.status in _OVER else waits).append(
                    f"{task.ref} waits on {blocker.ref} ({blocker.status})."
                )
        if len(waits) + len(stuck) >= _NAMED_MAX:
            break
    return " ".join(waits)[: limits.run_note_chars_max - 10], " ".join(stuck)[: limits.run_note_chars_max - 10]


def holder_name(tx: Tx, task: Task) -> str:
    """Who holds a task: a session by its name, a person by theirs."""
    route = tx.sessions.route(task.holder) if task.holder else None
    return route.name if route is not None else task.holder or ""


def _outside(tx: Tx, run: Run, task: Task) -> list[Task]:
    found = tx.tasks.blockers(task.id, limit=limits.blockers_shown_max)
    return [one for one in found if not _is_of(tx, run, one)]


def _is_of(tx: Tx, run: Run, task: Task) -> bool:
    at: Task | None = task
    for _ in range(limits.task_depth_max):
        if at is None or at.id == run.task_id:
            break
        at = tx.tasks.get(at.parent_id) if at.parent_id else None
    return at is not None and at.id == run.task_id
