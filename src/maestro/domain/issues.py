"""Issues: tasks that another project opened. Decide which projects may open an issue, and which party a project is.

Pure: the services read the store.
"""

from __future__ import annotations

import enum

import msgspec

from maestro.domain.projects import InboundPolicy, Project
from maestro.domain.tasks import FINAL_STATUSES, Task


class Issue(msgspec.Struct, frozen=True):
    """The part of an issue besides its task: the mail thread and the opener."""

    task_id: str
    thread_id: str
    opener: str  # a session's id, or the person's name


class IssueParty(enum.Enum):
    """The party of an issue for which an agent or the person acts: the asked project, or the asking project."""

    RECEIVER = "receiver"
    OPENER = "opener"


def is_issue(task: Task) -> bool:
    return task.from_project_id is not None


def is_closed(task: Task) -> bool:
    return task.status in FINAL_STATUSES


def is_awaited(task: Task) -> bool:
    """Return whether another project waits for the outcome of the task."""
    return task.from_project_id not in (None, task.project_id) and not is_closed(task)


def accepts_inbound(receiver: Project, *, is_known: bool) -> bool:
    """Return whether a project accepts mail and issues from a project that it knows or does not know."""
    return receiver.inbound is InboundPolicy.OPEN or (receiver.inbound is InboundPolicy.KNOWN and is_known)


def party_of(task: Task, project_id: str | None) -> IssueParty | None:
    """Return the party of an issue that a project is; None for a project that is neither party."""
    if project_id == task.project_id:
        return IssueParty.RECEIVER
    return IssueParty.OPENER if project_id is not None and project_id == task.from_project_id else None
