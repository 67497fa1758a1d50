"""The effects of a report on the reporting session: a notice to the coordinator, and a new status."""

from __future__ import annotations

from maestro.core import limits
from maestro.domain.callers import Caller
from maestro.domain.documents import ReportKind
from maestro.domain.sessions import Session, Source, Status
from maestro.domain.tasks import Priority, Task
from maestro.domain.tasks import Status as TaskStatus
from maestro.services.sessions import notices, status
from maestro.store.base import Tx

_OPEN = (TaskStatus.IN_PROGRESS, TaskStatus.BLOCKED)
_STATUS_FOR = {
    ReportKind.PROGRESS: Status.WORKING,
    ReportKind.COMPLETE: Status.COMPLETED,
    ReportKind.BLOCKED: Status.NEEDS_INPUT,
    ReportKind.ERROR: Status.FAILED,
}
_PHRASES = {
    ReportKind.PROGRESS: ("goes on", "goes on with"),
    ReportKind.COMPLETE: ("has completed", "has completed"),
    ReportKind.BLOCKED: ("is blocked", "is blocked on"),
    ReportKind.ERROR: ("reports an error", "reports an error on"),
}


def told(tx: Tx, caller: Caller, task: Task, kind: ReportKind, text: str, *, of_itself: bool = True) -> None:
    """Apply the effects of a task report after the task has moved.

    A report on another session's task does not set the status of the caller's session.
    """
    session = tx.sessions.get(caller.session_id) if caller.session_id else None
    if session is not None:
        tell(tx, session, kind, text, task)
        if of_itself:
            settle(tx, session, kind, text)


def tell(tx: Tx, session: Session, kind: ReportKind, text: str, task: Task | None) -> None:
    is_urgent = kind is ReportKind.BLOCKED
    if kind is ReportKind.ERROR:
        is_urgent = not notices.is_of_a_live_run(tx, session)  # a live run makes another attempt
    notices.to_coordinator(
        tx,
        session,
        subject=f"{session.name} {_report_phrase(tx, kind, task)}",
        text=text,
        priority=Priority.HIGH if is_urgent else Priority.NORMAL,
        task_id=task.id if task else None,
        person_too=is_urgent,
    )


def _report_phrase(tx: Tx, kind: ReportKind, task: Task | None) -> str:
    """Return the phrase for a report. A task that is still in review is handed in, not completed."""
    without_task, about_task = _PHRASES[kind]
    current = tx.tasks.get(task.id) if task else None
    if task is None or current is None:
        return f"{about_task} {task.ref}" if task else without_task
    if kind is ReportKind.COMPLETE and current.status is TaskStatus.IN_REVIEW:
        return f"hands in {task.ref}; " + ("its gates run" if task.gates else "it is being merged")
    return f"{about_task} {task.ref}"


def settle(tx: Tx, session: Session, kind: ReportKind, text: str) -> None:
    """Set the session's status by its report. The session is completed only when it holds no more tasks."""
    new_status = _STATUS_FOR[kind]
    if kind in (ReportKind.COMPLETE, ReportKind.ERROR) and holds(tx, session):
        new_status = Status.WORKING
    elif kind is ReportKind.COMPLETE and _awaits_review(tx, session):
        new_status = Status.IDLE  # the gates decide
    if new_status is not session.status:
        status.say(tx, session, new_status, source=Source.REPORT, detail=text[:500], actor=session.id, quietly=True)


def reviewed(tx: Tx, session: Session, *, passed: bool) -> None:
    """Set the status of a task's holder after the gates' verdict: the holder works on, or is completed."""
    if session.ended_at is not None:
        return
    is_busy = bool(holds(tx, session)) or _awaits_review(tx, session)
    new_status = Status.COMPLETED if passed and not is_busy else Status.WORKING
    if session.status in (Status.IDLE, Status.WORKING) and new_status is not session.status:
        # No notice about the status: a notice of its own reports the verdict.
        detail = "its gates gave their verdict"
        status.say(tx, session, new_status, source=Source.REPORT, detail=detail, actor=session.id, quietly=True)


def _awaits_review(tx: Tx, session: Session) -> bool:
    tasks = tx.tasks.of_holder(session.id, limit=limits.page_items_default)
    return any(task.status is TaskStatus.IN_REVIEW for task in tasks)


def holds(tx: Tx, session: Session) -> list[Task]:
    """Return the session's open tasks."""
    tasks = tx.tasks.of_holder(session.id, limit=limits.page_items_default)
    return [task for task in tasks if task.status in _OPEN]


def started(tx: Tx, caller: Caller) -> None:
    """Set the status of a session that starts a task to working."""
    route = tx.sessions.route(caller.session_id) if caller.session_id else None
    if route is not None and route.status not in (Status.WORKING, Status.SPAWNING):
        session = tx.sessions.get(route.id)
        assert session is not None
        status.say(tx, session, Status.WORKING, source=Source.REPORT, detail="started a task", actor=caller.name)
