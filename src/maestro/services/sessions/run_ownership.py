"""Decide who owns a run: its starter, the sessions above the starter, the starter's successor, and the person."""

from __future__ import annotations

from maestro.core import errors, limits
from maestro.domain.callers import Caller, Role
from maestro.domain.runs import Run
from maestro.domain.tasks import Task
from maestro.services.access import session_relations
from maestro.services.mail import routing
from maestro.store.base import Tx


def owns_run(tx: Tx, caller: Caller, run: Run) -> bool:
    """Return whether the caller may stop and resume the run."""
    if caller.role is Role.PERSON:
        return True
    starters = (run.started_by, routing.route_to_session(tx, run.started_by).mailbox)
    sessions = [session for session in map(tx.sessions.get, starters) if session]
    return any(session_relations.is_same_or_above(tx, caller.session_id, session) for session in sessions)


def require_own_runs(tx: Tx, caller: Caller, task: Task) -> None:
    """Refuse to end a task that belongs to a live run of another owner. The holder of the task may always end it."""
    if caller.role is Role.PERSON or (task.holder is not None and task.holder == caller.session_id):
        return
    run = _live_run_over(tx, task)
    if run is not None and not owns_run(tx, caller, run):
        raise errors.NotPermitted(
            f"{task.ref} belongs to {run.id}, which another session or the person has started.",
            hint=f"Ask the starter of the run, or the person, to stop the run: maestro run stop {run.id}",
            data={"ref": task.ref, "run": run.id},
        )


def _live_run_over(tx: Tx, task: Task) -> Run | None:
    """Return the live run of the task, or of the nearest task above it."""
    ancestor: Task | None = task
    for _ in range(limits.task_depth_max + 1):
        if ancestor is None:
            break
        run = tx.runs.of_task(ancestor.id)
        if run is not None:
            return run
        ancestor = tx.tasks.get(ancestor.parent_id) if ancestor.parent_id else None
    return None
