"""What the server tells whoever must know: a coordinator about its workers, workers about their coordinator.

Posted in the transaction of what it tells about, so that one `mail wait` hears everything.
"""

from __future__ import annotations

from maestro.core import limits
from maestro.domain.messages import HUMAN, Sender, SenderKind, Type
from maestro.domain.runs import RunStatus
from maestro.domain.sessions import Session, Status
from maestro.domain.tasks import Priority
from maestro.services.mail import routing
from maestro.services.mail.post import Draft, Target, of_the_server, post, small
from maestro.store.base import Tx

_TELLING = {
    Status.NEEDS_INPUT: ("needs input", Priority.HIGH),
    Status.COMPLETED: ("is done", Priority.NORMAL),
    Status.FAILED: ("has failed", Priority.HIGH),
    Status.STOPPED: ("has stopped", Priority.NORMAL),
    Status.LOST: ("is lost", Priority.HIGH),
}
# What the person hears of a session that has no coordinator; the rest is on the board.
_FOR_THE_PERSON = (Status.FAILED, Status.LOST)


def words_for(status: Status) -> str:
    """What a session has come to, after its name."""
    told = _TELLING.get(status)
    return told[0] if told else f"is {status}"


def to_coordinator(
    tx: Tx,
    session: Session,
    *,
    subject: str,
    text: str,
    priority: Priority = Priority.NORMAL,
    task_id: str | None = None,
    person_too: bool = False,
    person_instead: bool = True,
) -> None:
    """Tell a session's coordinator; without one, the person if it is worth it, or if the coordinator was to hear it
    and is gone."""
    if session.parent_id is not None:
        target = routing.to_session(tx, session.parent_id)
        person_too = person_too or (person_instead and _is_left_alone(tx, session))
    elif person_too:
        target = routing.PERSON
    else:
        return
    if target.box == HUMAN and not person_too:
        return
    _post(tx, _from(tx, session), session.project_id, [target], subject, text, priority, task_id)


def _is_left_alone(tx: Tx, session: Session) -> bool:
    """Whether its coordinator ended before its work was done, and no run goes on to tell how it comes out."""
    parent = tx.sessions.get(session.parent_id) if session.parent_id else None
    is_gone = parent is not None and parent.ended_at is not None and parent.status is not Status.COMPLETED
    return is_gone and not is_of_a_live_run(tx, session)


def status_changed(tx: Tx, session: Session, status: Status, detail: str) -> None:
    """A worker's move that its coordinator waits for."""
    told = _TELLING.get(status)
    if told is None:
        return
    words, priority = told
    goes_on = status in _FOR_THE_PERSON and is_of_a_live_run(tx, session)
    to_coordinator(
        tx,
        session,
        subject=f"{session.name} {words}",
        text=detail or f"{session.name} ({session.id}) {words}.",
        priority=Priority.NORMAL if goes_on else priority,
        person_too=status in _FOR_THE_PERSON and not goes_on,
        person_instead=status is not Status.STOPPED,  # mostly with its coordinator, by the person
    )


def is_of_a_live_run(tx: Tx, session: Session) -> bool:
    """Whether a run goes on with what a session leaves undone: that one says how it comes out in the end."""
    spawn = tx.spawns.get(session.id)
    run = tx.runs.get(spawn.run_id) if spawn is not None and spawn.run_id else None
    return run is not None and run.status is RunStatus.RUNNING


def coordinator_gone(tx: Tx, coordinator: Session, status: Status, *, resumes: bool = False) -> None:
    """Workers of a coordinator that is no more: whom they have now."""
    workers = tx.sessions.ids_siblings("", coordinator.id, limit=limits.broadcast_recipients_max)
    if not workers:
        return
    instead = routing.to_session(tx, coordinator.id)
    text = "Go on with your work. It is started again, and will find your mail."
    if not resumes:
        text = (
            f"Go on with your work. Mail for your coordinator goes to {instead.name or instead.box} until someone "
            "adopts you (maestro session adopt)."
        )
    _to_workers(tx, coordinator, workers, f"Your coordinator {coordinator.name} is {status}", text, Priority.HIGH)


def resumed(tx: Tx, session: Session, was: Status) -> None:
    """A session that had ended is started again: for its coordinator, and for its workers."""
    told = f"It had ended ({was}). It has the same name, place and mailbox."
    to_coordinator(tx, session, subject=f"{session.name} is started again", text=told)
    workers = tx.sessions.ids_siblings("", session.id, limit=limits.broadcast_recipients_max)
    if workers:
        text = f"It had ended ({was}), and looks at its mail first. Go on with your work."
        _to_workers(tx, session, workers, f"Your coordinator {session.name} is started again", text, Priority.NORMAL)


def _to_workers(
    tx: Tx, coordinator: Session, workers: list[tuple[str, str]], subject: str, text: str, priority: Priority
) -> None:
    targets = [Target(session_id, coordinator.project_id, name=name) for session_id, name in workers]
    to = f"workers of {coordinator.name}"
    _post(tx, of_the_server(), coordinator.project_id, targets, subject, text, priority, None, to=to)


def to_session(
    tx: Tx,
    session: Session,
    *,
    subject: str,
    text: str,
    priority: Priority = Priority.NORMAL,
    task_id: str | None = None,
) -> None:
    """Something a session must know."""
    target = Target(session.id, session.project_id, name=session.name)
    _post(tx, of_the_server(), session.project_id, [target], subject, text, priority, task_id)


def run_ended(tx: Tx, starter: str, project_id: str, *, subject: str, text: str, priority: Priority) -> None:
    """Whoever started a run is told how it came out, and need not ask."""
    target = routing.to_session(tx, starter) if starter.startswith("ses_") else routing.PERSON
    _post(tx, of_the_server(), project_id, [target], subject, text or f"{subject}.", priority, None)


def to_person(
    tx: Tx,
    project_id: str | None,
    *,
    subject: str,
    text: str,
    priority: Priority = Priority.HIGH,
    task_id: str | None = None,
) -> None:
    _post(tx, of_the_server(), project_id, [routing.PERSON], subject, text, priority, task_id)


def _from(tx: Tx, session: Session) -> Sender:
    project = tx.projects.get(session.project_id)
    name = project.name if project else None
    return Sender(SenderKind.SESSION, session.id, session.name, session.address, session.human, name)


def _post(
    tx: Tx,
    sender: Sender,
    project_id: str | None,
    targets: list[Target],
    subject: str,
    text: str,
    priority: Priority,
    task_id: str | None,
    *,
    to: str = "",
) -> None:
    post(
        tx,
        Draft(
            sender=sender,
            project_id=project_id,
            to=[to or targets[0].name or targets[0].box],
            targets=targets,
            type=Type.NOTIFICATION,
            priority=priority,
            subject=subject[: limits.subject_chars_max],
            body=small(text[: limits.message_chars_max]),
            task_id=task_id,
        ),
    )
