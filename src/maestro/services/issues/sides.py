"""Where each side of an issue is reached: whoever has it in hand, and if that one is gone, all of its project."""

from __future__ import annotations

import msgspec

from maestro.domain.issues import Issue
from maestro.domain.messages import HUMAN
from maestro.domain.tasks import Task
from maestro.domain.trackers import is_outside
from maestro.services.mail import routing
from maestro.services.mail.post import Target
from maestro.store.base import Tx


def opener(tx: Tx, issue: Issue, task: Task) -> Target:
    """Whoever opened it, or stands in for it."""
    return _reached(tx, issue.opener, task.from_project_id)


def receiver(tx: Tx, task: Task) -> Target:
    """Whoever works on it; while nobody does, every agent of the project."""
    return _reached(tx, task.holder, task.project_id)


def to_project(tx: Tx, project_id: str, reason: str | None = None) -> Target:
    project = tx.projects.get(project_id)
    return Target(project_id, project_id, reason, project.name if project else "")


def instead_of(tx: Tx, session_id: str, project_id: str, target: Target) -> Target:
    """Where an issue's mail goes when a session has ended: rather to others of its project than to the person."""
    if target.box != HUMAN:
        return target
    there = to_project(tx, project_id)
    route = tx.sessions.route(session_id)
    ended = f"{route.name} has ended ({route.status}); it goes to all of {there.name}" if route else target.reason
    return msgspec.structs.replace(there, reason=ended)


def _reached(tx: Tx, name: str | None, project_id: str | None) -> Target:
    if name is not None and name.startswith("ses_"):
        target = routing.to_session(tx, name)
        return instead_of(tx, name, project_id, target) if project_id else target
    # Someone whom only the tracker knows reads it there; here, others of the project may want to.
    everyone = name is None or is_outside(name)
    return to_project(tx, project_id) if everyone and project_id else routing.PERSON
