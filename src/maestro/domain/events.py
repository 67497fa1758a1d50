"""The durable log's vocabulary: a closed set of kinds, and the value of one line."""

from __future__ import annotations

import enum
from datetime import datetime
from typing import Any

import msgspec


class Kind(enum.StrEnum):
    """Every kind of event there is. Adding one is a change of a public interface."""

    PROJECT_CREATED = "project.created"
    PROJECT_CHANGED = "project.changed"
    WORKSPACE_CREATED = "workspace.created"
    WORKSPACE_CHANGED = "workspace.changed"

    TASK_CREATED = "task.created"
    TASK_EDITED = "task.edited"
    TASK_READY = "task.ready"
    TASK_STARTED = "task.started"
    TASK_RELEASED = "task.released"
    TASK_CLAIM_EXPIRED = "task.claim_expired"
    TASK_IN_REVIEW = "task.in_review"
    TASK_REJECTED = "task.rejected"
    TASK_COMPLETED = "task.completed"
    TASK_BLOCKED = "task.blocked"
    TASK_UNBLOCKED = "task.unblocked"
    TASK_FAILED = "task.failed"
    TASK_CANCELLED = "task.cancelled"
    TASK_REOPENED = "task.reopened"
    TASK_DELETED = "task.deleted"
    TASK_DEPENDENCY_ADDED = "task.dependency_added"
    TASK_DEPENDENCY_REMOVED = "task.dependency_removed"
    TASK_REPORTED = "task.reported"
    TASK_DOCUMENT_ADDED = "task.document_added"

    SESSION_REGISTERED = "session.registered"
    SESSION_STATUS_CHANGED = "session.status_changed"
    SESSION_ENDED = "session.ended"


class Change(msgspec.Struct, frozen=True):
    """What a rule says happened, before the store gives it a place in the log."""

    kind: Kind
    subject: str
    project: str | None = None
    data: dict[str, Any] = {}


class Event(msgspec.Struct, frozen=True):
    """One line of the log."""

    seq: int
    at: datetime
    project: str | None
    kind: str
    version: int
    actor: str
    subject: str
    data: dict[str, Any]


VERSION = 1
