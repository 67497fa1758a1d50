"""What a task's gates, or its merge, came to: told to whoever waits for it, so that one `mail wait` hears of it."""

from __future__ import annotations

from maestro.domain.sessions import Session
from maestro.domain.tasks import Priority, Task
from maestro.services.sessions import notices
from maestro.store.base import Tx


def passed(tx: Tx, task: Task, holder: Session | None) -> None:
    """It counts now. Where nobody coordinates, that is on the board."""
    subject, text = f"{task.ref} is completed", f"{task.title}\n\nWhat it had to pass, it has passed."
    if holder is not None:
        notices.to_coordinator(tx, holder, subject=subject, text=text, task_id=task.id)
    else:
        _to_owner(tx, task, subject=subject, text=text, priority=Priority.NORMAL)


def failed(tx: Tx, task: Task, holder: Session | None, *, what: str, why: str) -> None:
    """It does not count. A run that goes on with it tells how it came out in the end."""
    subject = f"{task.ref} did not pass: {what}"
    if holder is None:
        _to_owner(tx, task, subject=subject, text=why, priority=Priority.HIGH)
        return
    goes_on = notices.is_of_a_live_run(tx, holder)
    notices.to_coordinator(
        tx,
        holder,
        subject=subject,
        text=why,
        priority=Priority.NORMAL if goes_on else Priority.HIGH,
        task_id=task.id,
        person_too=not goes_on,
    )


def _to_owner(tx: Tx, task: Task, *, subject: str, text: str, priority: Priority) -> None:
    """A person's task, or a parent whose work below is done: for whoever made it."""
    maker = tx.sessions.get(task.created_by)
    if maker is not None and maker.ended_at is None:
        notices.to_session(tx, maker, subject=subject, text=text, priority=priority, task_id=task.id)
    elif priority is Priority.HIGH or task.holder:
        notices.to_person(tx, task.project_id, subject=subject, text=text, priority=priority, task_id=task.id)
