"""Translate names between Maestro and a tracker: holders and senders to tracker names, tracker users to callers."""

from __future__ import annotations

from maestro.domain.callers import SERVER_NAME, Caller, Role
from maestro.domain.messages import Sender
from maestro.domain.tasks import Task
from maestro.domain.trackers import TRACKER_PREFIX, is_tracker_person, tracker_person
from maestro.store.base import Tx


def actor_of(tx: Tx, holder: str | None) -> str:
    """Return the name of a task's holder in the tracker: of a session, a person, or a user of the tracker."""
    if holder is None:
        return SERVER_NAME
    if is_tracker_person(holder):
        return holder.removeprefix(TRACKER_PREFIX)
    session = tx.sessions.get(holder) if holder.startswith("ses_") else None
    return session.name if session else holder


def author_of(sender: Sender, project: str) -> str:
    """Return a sender's name in the tracker of a project. A sender of another project is named by its address."""
    return sender.name if sender.project == project else sender.address or sender.name


def holder_for(tx: Tx, task: Task, assignee: str | None) -> str:
    """Return the holder in Maestro for the tracker's `assignee`.

    The holder is the present holder if it has that name, else a live session of that name, else a user known only to
    the tracker.
    """
    if task.holder is not None and assignee is not None and actor_of(tx, task.holder) == assignee:
        return task.holder
    session = tx.sessions.by_name(task.project_id, assignee) if assignee else None
    return session.id if session is not None and tx.sessions.is_live(session.id) else tracker_person(assignee)


def caller_from_tracker(name: str) -> Caller:
    """Return the caller for a change that a user made in the tracker. Maestro does not verify the user's name."""
    return Caller(Role.PERSON, tracker_person(name))
