"""Post notices: to a coordinator about its workers, to workers about their coordinator, and to the person.

A notice is mail, posted in the transaction of the change that it reports. So one `mail wait` gets every notice.
"""

from __future__ import annotations

from maestro.core import limits
from maestro.domain.messages import HUMAN_MAILBOX, MessageType, Sender, SenderKind
from maestro.domain.notifications import NotificationKind
from maestro.domain.priorities import Priority
from maestro.domain.runs import RunStatus
from maestro.domain.sessions import Session, SessionStatus
from maestro.services.mail import routing
from maestro.services.mail.create import Draft, MailTarget, inline_body, post_message, server_sender
from maestro.services.notifications.queue import queue_session_notification
from maestro.store.base import Tx
from maestro.store.repositories.sessions import SessionName

_PHRASES = {
    SessionStatus.NEEDS_INPUT: ("needs input", Priority.HIGH),
    SessionStatus.COMPLETED: ("is done", Priority.NORMAL),
    SessionStatus.FAILED: ("has failed", Priority.HIGH),
    SessionStatus.STOPPED: ("has stopped", Priority.NORMAL),
    SessionStatus.LOST: ("is lost", Priority.HIGH),
}
# The person gets a notice about a session without a coordinator only for these statuses; the board shows the others.
_FOR_THE_PERSON = (SessionStatus.FAILED, SessionStatus.LOST)


_NOTIFICATIONS = {
    SessionStatus.FAILED: NotificationKind.SESSION_FAILED,
    SessionStatus.LOST: NotificationKind.SESSION_LOST,
}


def status_phrase(status: SessionStatus) -> str:
    """Return the phrase that follows a session's name: "needs input", "has failed"."""
    phrase = _PHRASES.get(status)
    return phrase[0] if phrase else f"is {status}"


def notify_coordinator(
    tx: Tx,
    session: Session,
    *,
    subject: str,
    text: str,
    priority: Priority = Priority.NORMAL,
    task_id: str | None = None,
    is_for_person: bool = False,
    falls_back_to_person: bool = True,
    notification: NotificationKind | None = None,
) -> None:
    """Post a notice to a session's coordinator.

    The person gets the notice instead if the session has no coordinator and `is_for_person` is set, or if the
    coordinator has ended before its work was done and `falls_back_to_person` is set. A notification of the kind
    `notification` then calls the person.
    """
    if session.parent_id is not None:
        target = routing.route_to_session(tx, session.parent_id)
        is_for_person = is_for_person or (falls_back_to_person and _has_lost_coordinator(tx, session))
    elif is_for_person:
        target = routing.PERSON_TARGET
    else:
        return
    if target.mailbox == HUMAN_MAILBOX and not is_for_person:
        return
    if target.mailbox == HUMAN_MAILBOX and notification is not None:
        queue_session_notification(tx, session, notification, subject)
    _post_notice(tx, _sender_of(tx, session), session.project_id, [target], subject, text, priority, task_id)


def _has_lost_coordinator(tx: Tx, session: Session) -> bool:
    """Return whether the coordinator ended before its work was done, and no live run will report the outcome."""
    parent = tx.sessions.get(session.parent_id) if session.parent_id else None
    is_gone = parent is not None and parent.ended_at is not None and parent.status is not SessionStatus.COMPLETED
    return is_gone and not belongs_to_live_run(tx, session)


def notify_status_change(
    tx: Tx, session: Session, status: SessionStatus, detail: str, *, is_by_person: bool = False
) -> None:
    """Tell a coordinator about a status change of a worker that the coordinator waits for.

    `is_by_person`: the person has caused the change and needs no notification.
    """
    found = _PHRASES.get(status)
    if found is None:
        return
    phrase, priority = found
    run_goes_on = status in _FOR_THE_PERSON and belongs_to_live_run(tx, session)
    notify_coordinator(
        tx,
        session,
        subject=f"{session.name} {phrase}",
        text=detail or f"{session.name} ({session.id}) {phrase}.",
        priority=Priority.NORMAL if run_goes_on else priority,
        is_for_person=status in _FOR_THE_PERSON and not run_goes_on,
        falls_back_to_person=status
        is not SessionStatus.STOPPED,  # the person mostly stops a worker together with its coordinator
        notification=None if is_by_person else _NOTIFICATIONS.get(status),
    )


def belongs_to_live_run(tx: Tx, session: Session) -> bool:
    """Return whether a live run goes on with the session's unfinished work. The run reports the final outcome."""
    spawn = tx.spawns.get(session.id)
    run = tx.runs.get(spawn.run_id) if spawn is not None and spawn.run_id else None
    return run is not None and run.status is RunStatus.RUNNING


def notify_workers_of_end(tx: Tx, coordinator: Session, status: SessionStatus, *, will_resume: bool = False) -> None:
    """Tell the workers of an ended coordinator where their mail to it goes now."""
    workers = tx.sessions.ids_siblings("", coordinator.id, limit=limits.broadcast_recipients_max)
    if not workers:
        return
    stand_in = routing.route_to_session(tx, coordinator.id)
    text = "Go on with your work. Maestro starts your coordinator again; it will find your mail."
    if not will_resume:
        text = (
            f"Go on with your work. Mail for your coordinator goes to {stand_in.name or stand_in.mailbox} until "
            "another "
            "coordinator adopts you (maestro session adopt)."
        )
    _notify_workers(tx, coordinator, workers, f"Your coordinator {coordinator.name} is {status}", text, Priority.HIGH)


def notify_resumed(tx: Tx, session: Session, previous_status: SessionStatus) -> None:
    """Tell the coordinator and the workers of an ended session about the new start."""
    text = f"{session.name} had ended ({previous_status}). It has the same name, directory and mailbox."
    notify_coordinator(tx, session, subject=f"{session.name} is started again", text=text)
    workers = tx.sessions.ids_siblings("", session.id, limit=limits.broadcast_recipients_max)
    if workers:
        text = f"{session.name} had ended ({previous_status}), and reads its mail first. Go on with your work."
        _notify_workers(
            tx, session, workers, f"Your coordinator {session.name} is started again", text, Priority.NORMAL
        )


def _notify_workers(
    tx: Tx, coordinator: Session, workers: list[SessionName], subject: str, text: str, priority: Priority
) -> None:
    targets = [MailTarget(worker.id, coordinator.project_id, name=worker.name) for worker in workers]
    to = f"workers of {coordinator.name}"
    _post_notice(tx, server_sender(), coordinator.project_id, targets, subject, text, priority, None, to=to)


def notify_session(
    tx: Tx,
    session: Session,
    *,
    subject: str,
    text: str,
    priority: Priority = Priority.NORMAL,
    task_id: str | None = None,
) -> None:
    """Post a notice to a session."""
    target = MailTarget(session.id, session.project_id, name=session.name)
    _post_notice(tx, server_sender(), session.project_id, [target], subject, text, priority, task_id)


def notify_run_end(tx: Tx, starter: str, project_id: str, *, subject: str, text: str, priority: Priority) -> None:
    """Tell the starter of a run, a session or the person, about the outcome."""
    target = routing.route_to_session(tx, starter) if starter.startswith("ses_") else routing.PERSON_TARGET
    _post_notice(tx, server_sender(), project_id, [target], subject, text or f"{subject}.", priority, None)


def notify_person(
    tx: Tx,
    project_id: str | None,
    *,
    subject: str,
    text: str,
    priority: Priority = Priority.HIGH,
    task_id: str | None = None,
) -> None:
    _post_notice(tx, server_sender(), project_id, [routing.PERSON_TARGET], subject, text, priority, task_id)


def _sender_of(tx: Tx, session: Session) -> Sender:
    project = tx.projects.get(session.project_id)
    name = project.name if project else None
    return Sender(SenderKind.SESSION, session.id, session.name, session.address, session.human, name)


def _post_notice(
    tx: Tx,
    sender: Sender,
    project_id: str | None,
    targets: list[MailTarget],
    subject: str,
    text: str,
    priority: Priority,
    task_id: str | None,
    *,
    to: str = "",
) -> None:
    post_message(
        tx,
        Draft(
            sender=sender,
            project_id=project_id,
            to=[to or targets[0].name or targets[0].mailbox],
            targets=targets,
            type=MessageType.NOTIFICATION,
            priority=priority,
            subject=subject[: limits.subject_chars_max],
            body=inline_body(text[: limits.message_chars_max]),
            task_id=task_id,
        ),
    )
