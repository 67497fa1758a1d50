"""Who someone is on the other side: holders and senders as a tracker knows them, its people as records know them."""

from __future__ import annotations

from maestro.domain.callers import SERVER, Caller, Role
from maestro.domain.messages import Sender
from maestro.domain.tasks import Task
from maestro.domain.trackers import OUTSIDE, is_outside, outside
from maestro.store.base import Tx


def actor_of(tx: Tx, holder: str | None) -> str:
    """A holder's name in the tracker: a session's own, the person's, or the one it has there already."""
    if holder is None:
        return SERVER
    if is_outside(holder):
        return holder.removeprefix(OUTSIDE)
    session = tx.sessions.get(holder) if holder.startswith("ses_") else None
    return session.name if session else holder


def author_of(sender: Sender, project: str) -> str:
    """A sender's name in the tracker of a project: from elsewhere with where that is."""
    return sender.name if sender.project == project else sender.address or sender.name


def holder_for(tx: Tx, task: Task, who: str | None) -> str:
    """Who has an issue that the tracker says is `who`'s: whoever holds it under that name already, an agent of the
    project that is called so, or someone whom only the tracker knows."""
    if task.holder is not None and who is not None and actor_of(tx, task.holder) == who:
        return task.holder
    found = tx.sessions.by_name(task.project_id, who) if who else None
    return found.id if found is not None and tx.sessions.is_live(found.id) else outside(who)


def from_tracker(who: str) -> Caller:
    """In whose name something is done that the tracker says was done. The name is its word, not ours."""
    return Caller(Role.PERSON, outside(who))
