"""What follows from a report for the session that gave it: its coordinator hears of it, its status goes with it."""

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
_MEANS = {
    ReportKind.PROGRESS: Status.WORKING,
    ReportKind.COMPLETE: Status.COMPLETED,
    ReportKind.BLOCKED: Status.NEEDS_INPUT,
    ReportKind.ERROR: Status.FAILED,
}
_WORDS = {
    ReportKind.PROGRESS: ("goes on", "goes on with"),
    ReportKind.COMPLETE: ("has completed", "has completed"),
    ReportKind.BLOCKED: ("is blocked", "is blocked on"),
    ReportKind.ERROR: ("reports an error", "reports an error on"),
}


def told(tx: Tx, caller: Caller, task: Task, kind: ReportKind, text: str, *, of_itself: bool = True) -> None:
    """A session has said something about a task, after the task has moved by it; about another's, it says nothing of
    itself."""
    session = tx.sessions.get(caller.session_id) if caller.session_id else None
    if session is not None:
        tell(tx, session, kind, text, task)
        if of_itself:
            settle(tx, session, kind, text)


def tell(tx: Tx, session: Session, kind: ReportKind, text: str, task: Task | None) -> None:
    urgent = kind is ReportKind.BLOCKED
    if kind is ReportKind.ERROR:
        urgent = not notices.is_of_a_live_run(tx, session)  # that one tries again
    notices.to_coordinator(
        tx,
        session,
        subject=f"{session.name} {_words(tx, kind, task)}",
        text=text,
        priority=Priority.HIGH if urgent else Priority.NORMAL,
        task_id=task.id if task else None,
        person_too=urgent,
    )


def _words(tx: Tx, kind: ReportKind, task: Task | None) -> str:
    """What a report comes to. What is still to be judged is handed in, not done."""
    alone, about = _WORDS[kind]
    now = tx.tasks.get(task.id) if task else None
    if task is None or now is None:
        return f"{about} {task.ref}" if task else alone
    if kind is ReportKind.COMPLETE and now.status is TaskStatus.IN_REVIEW:
        return f"hands in {task.ref}; " + ("its gates run" if task.gates else "it is being merged")
    return f"{about} {task.ref}"


def settle(tx: Tx, session: Session, kind: ReportKind, text: str) -> None:
    """What a report says of the session itself: done only when it holds nothing more."""
    means = _MEANS[kind]
    if kind in (ReportKind.COMPLETE, ReportKind.ERROR) and holds(tx, session):
        means = Status.WORKING
    elif kind is ReportKind.COMPLETE and _awaits_review(tx, session):
        means = Status.IDLE  # its gates have the word
    if means is not session.status:
        status.say(tx, session, means, source=Source.REPORT, detail=text[:500], actor=session.id, quietly=True)


def reviewed(tx: Tx, session: Session, *, passed: bool) -> None:
    """A task's gates have spoken: whoever holds it goes on with it, or is done."""
    if session.ended_at is not None:
        return
    busy = bool(holds(tx, session)) or _awaits_review(tx, session)
    means = Status.COMPLETED if passed and not busy else Status.WORKING
    if session.status in (Status.IDLE, Status.WORKING) and means is not session.status:
        # Quietly: what the gates said of the task is told by itself.
        said = "its gates have spoken"
        status.say(tx, session, means, source=Source.REPORT, detail=said, actor=session.id, quietly=True)


def _awaits_review(tx: Tx, session: Session) -> bool:
    found = tx.tasks.of_holder(session.id, limit=limits.page_items_default)
    return any(task.status is TaskStatus.IN_REVIEW for task in found)


def holds(tx: Tx, session: Session) -> list[Task]:
    """The open tasks that a session holds."""
    found = tx.tasks.of_holder(session.id, limit=limits.page_items_default)
    return [task for task in found if task.status in _OPEN]


def started(tx: Tx, caller: Caller) -> None:
    """A session that takes up a task is at work."""
    route = tx.sessions.route(caller.session_id) if caller.session_id else None
    if route is not None and route.status not in (Status.WORKING, Status.SPAWNING):
        session = tx.sessions.get(route.id)
        assert session is not None
        status.say(tx, session, Status.WORKING, source=Source.REPORT, detail="started a task", actor=caller.name)
