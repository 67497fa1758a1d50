"""Mail the verdict on a task (its gates, its merge) to the coordinator of its holder, its creator or the person.

A recipient that waits with `mail wait` gets the notice at once.
"""

from __future__ import annotations

from maestro.domain.priorities import Priority
from maestro.domain.sessions import Session
from maestro.domain.tasks import Task
from maestro.services.sessions import notices
from maestro.store.base import Tx


def report_passed(tx: Tx, task: Task, holder: Session | None) -> None:
    """Report a task that is completed. Without a coordinator only the board shows the completion."""
    subject, text = f"{task.ref} is completed", f"{task.title}\n\nThe task has passed its gates."
    if holder is not None:
        notices.notify_coordinator(tx, holder, subject=subject, text=text, task_id=task.id)
    else:
        _notify_creator(tx, task, subject=subject, text=text, priority=Priority.NORMAL)


def report_failed(tx: Tx, task: Task, holder: Session | None, *, problem: str, reason: str) -> None:
    """Report a task that was sent back. A live run that continues the task also reports the end of the task."""
    subject = f"{task.ref} did not pass: {problem}"
    if holder is None:
        _notify_creator(tx, task, subject=subject, text=reason, priority=Priority.HIGH)
        return
    is_in_live_run = notices.belongs_to_live_run(tx, holder)
    notices.notify_coordinator(
        tx,
        holder,
        subject=subject,
        text=reason,
        priority=Priority.NORMAL if is_in_live_run else Priority.HIGH,
        task_id=task.id,
        is_for_person=not is_in_live_run,
    )


def _notify_creator(tx: Tx, task: Task, *, subject: str, text: str, priority: Priority) -> None:
    """Notify the creator of a task without a session as holder: a person's task, or a parent of finished tasks."""
    creator = tx.sessions.get(task.created_by)
    if creator is not None and creator.ended_at is None:
        notices.notify_session(tx, creator, subject=subject, text=text, priority=priority, task_id=task.id)
    elif priority is Priority.HIGH or task.holder:
        notices.notify_person(tx, task.project_id, subject=subject, text=text, priority=priority, task_id=task.id)
