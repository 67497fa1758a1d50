"""Find the mailbox of each party of an issue: of the agent that handles the issue, else of the agent's project."""

from __future__ import annotations

import msgspec

from maestro.domain.issues import Issue
from maestro.domain.messages import HUMAN_MAILBOX
from maestro.domain.tasks import Task
from maestro.domain.trackers import is_tracker_person
from maestro.services.mail import routing
from maestro.services.mail.create import MailTarget
from maestro.store.base import Tx


def opener_target(tx: Tx, issue: Issue, task: Task) -> MailTarget:
    """Return the mailbox of the issue's opener, or of the opener's stand-in."""
    return _agent_or_project_target(tx, issue.opener, task.from_project_id)


def receiver_target(tx: Tx, task: Task) -> MailTarget:
    """Return the mailbox of the task's holder; for a task without a holder, of the asked project."""
    return _agent_or_project_target(tx, task.holder, task.project_id)


def project_target(tx: Tx, project_id: str, reason: str | None = None) -> MailTarget:
    project = tx.projects.get(project_id)
    return MailTarget(project_id, project_id, reason, project.name if project else "")


def redirect_to_project(tx: Tx, session_id: str, project_id: str, target: MailTarget) -> MailTarget:
    """Return the mailbox for issue mail of an ended session: the project's mailbox in place of the person's."""
    if target.mailbox != HUMAN_MAILBOX:
        return target
    fallback = project_target(tx, project_id)
    route = tx.sessions.mail_route(session_id)
    reason = (
        f"{route.name} has ended ({route.status}); the message goes to all agents of {fallback.name}"
        if route
        else target.reason
    )
    return msgspec.structs.replace(fallback, reason=reason)


def _agent_or_project_target(tx: Tx, name: str | None, project_id: str | None) -> MailTarget:
    if name is not None and name.startswith("ses_"):
        target = routing.route_to_session(tx, name)
        return redirect_to_project(tx, name, project_id, target) if project_id else target
    # A user of the tracker reads the message in the tracker. Agents of the project may also want the message.
    is_for_project = name is None or is_tracker_person(name)
    return project_target(tx, project_id) if is_for_project and project_id else routing.PERSON_TARGET
