"""The effects of a report on the reporting session: a notice to the coordinator, and a new status."""

from __future__ import annotations

from maestro.core import limits
from maestro.domain.callers import Caller
from maestro.domain.documents import ReportKind
from maestro.domain.notifications import NotificationKind
from maestro.domain.priorities import Priority
from maestro.domain.sessions import Session, SessionStatus, StatusSource
from maestro.domain.tasks import Task, TaskStatus
from maestro.services.sessions import notices, status
from maestro.store.base import Tx

_OPEN = (TaskStatus.IN_PROGRESS, TaskStatus.BLOCKED)
_STATUS_FOR = {
    ReportKind.PROGRESS: SessionStatus.WORKING,
    ReportKind.COMPLETE: SessionStatus.COMPLETED,
    ReportKind.BLOCKED: SessionStatus.NEEDS_INPUT,
    ReportKind.ERROR: SessionStatus.FAILED,
}
_PHRASES = {
    ReportKind.PROGRESS: ("goes on", "goes on with"),
    ReportKind.COMPLETE: ("has completed", "has completed"),
    ReportKind.BLOCKED: ("is blocked", "is blocked on"),
    ReportKind.ERROR: ("reports an error", "reports an error on"),
}


def apply_task_report(
    tx: Tx, caller: Caller, task: Task, kind: ReportKind, text: str, *, sets_status: bool = True
) -> None:
    """Apply the effects of a task report after the task has moved.

    A report on another session's task does not set the status of the caller's session.
    """
    session = tx.sessions.get(caller.session_id) if caller.session_id else None
    if session is not None:
        notify_of_report(tx, session, kind, text, task)
        if sets_status:
            set_reported_status(tx, session, kind, text)


_NOTIFICATIONS = {
    ReportKind.BLOCKED: NotificationKind.SESSION_BLOCKED,
    ReportKind.ERROR: NotificationKind.SESSION_FAILED,
}


def notify_of_report(tx: Tx, session: Session, kind: ReportKind, text: str, task: Task | None) -> None:
    is_urgent = kind is ReportKind.BLOCKED
    if kind is ReportKind.ERROR:
        is_urgent = not notices.belongs_to_live_run(tx, session)  # a live run makes another attempt
    notices.notify_coordinator(
        tx,
        session,
        subject=f"{session.name} {_report_phrase(tx, kind, task)}",
        text=text,
        priority=Priority.HIGH if is_urgent else Priority.NORMAL,
        task_id=task.id if task else None,
        is_for_person=is_urgent,
        notification=_NOTIFICATIONS.get(kind),
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


def set_reported_status(tx: Tx, session: Session, kind: ReportKind, text: str) -> None:
    """Set the session's status by its report. The session is completed only when it holds no more tasks."""
    new_status = _STATUS_FOR[kind]
    if kind in (ReportKind.COMPLETE, ReportKind.ERROR) and held_tasks(tx, session):
        new_status = SessionStatus.WORKING
    elif kind is ReportKind.COMPLETE and _awaits_review(tx, session):
        new_status = SessionStatus.IDLE  # the gates decide
    if new_status is not session.status:
        status.apply_signal(
            tx, session, new_status, source=StatusSource.REPORT, detail=text[:500], actor=session.id, is_silent=True
        )


def apply_review(tx: Tx, session: Session, *, passed: bool) -> None:
    """Set the status of a task's holder after the gates' verdict: the holder works on, or is completed."""
    if session.ended_at is not None:
        return
    is_busy = bool(held_tasks(tx, session)) or _awaits_review(tx, session)
    new_status = SessionStatus.COMPLETED if passed and not is_busy else SessionStatus.WORKING
    if session.status in (SessionStatus.IDLE, SessionStatus.WORKING) and new_status is not session.status:
        # No notice about the status: a notice of its own reports the verdict.
        detail = "its gates gave their verdict"
        status.apply_signal(
            tx, session, new_status, source=StatusSource.REPORT, detail=detail, actor=session.id, is_silent=True
        )


def _awaits_review(tx: Tx, session: Session) -> bool:
    tasks = tx.tasks.of_holder(session.id, limit=limits.page_items_default)
    return any(task.status is TaskStatus.IN_REVIEW for task in tasks)


def held_tasks(tx: Tx, session: Session) -> list[Task]:
    """Return the session's open tasks."""
    tasks = tx.tasks.of_holder(session.id, limit=limits.page_items_default)
    return [task for task in tasks if task.status in _OPEN]


def mark_working(tx: Tx, caller: Caller) -> None:
    """Set the status of a session that starts a task to working."""
    route = tx.sessions.mail_route(caller.session_id) if caller.session_id else None
    if route is not None and route.status not in (SessionStatus.WORKING, SessionStatus.SPAWNING):
        session = tx.sessions.get(route.id)
        assert session is not None
        status.apply_signal(
            tx, session, SessionStatus.WORKING, source=StatusSource.REPORT, detail="started a task", actor=caller.name
        )
