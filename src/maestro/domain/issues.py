"""Issues: tasks that another project opened. Who may open one, and who speaks for which side. Pure."""

from __future__ import annotations

import enum

import msgspec

from maestro.domain.projects import Inbound, Project
from maestro.domain.tasks import FINAL, Task


class Issue(msgspec.Struct, frozen=True):
    """What an issue has besides its task: its conversation, and who began it."""

    task_id: str
    thread_id: str
    opener: str  # a session's id, or the person's name


class Side(enum.Enum):
    """For whom someone speaks in an issue's conversation."""

    RECEIVER = "receiver"
    OPENER = "opener"


def is_issue(task: Task) -> bool:
    return task.from_project_id is not None


def is_closed(task: Task) -> bool:
    return task.status in FINAL


def is_awaited(task: Task) -> bool:
    """Whether another project waits to hear what becomes of it."""
    return task.from_project_id not in (None, task.project_id) and not is_closed(task)


def admits(receiver: Project, *, is_known: bool) -> bool:
    """Whether a project takes what others write to it."""
    return receiver.inbound is Inbound.OPEN or (receiver.inbound is Inbound.KNOWN and is_known)


def side_of(task: Task, project_id: str | None) -> Side | None:
    """For whom an agent of a project speaks: its own, if it is one of the two; nobody else has a say."""
    if project_id == task.project_id:
        return Side.RECEIVER
    return Side.OPENER if project_id is not None and project_id == task.from_project_id else None
