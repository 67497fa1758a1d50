"""The events of the durable log: a closed set of kinds, and the value of one event."""

from __future__ import annotations

import enum
from datetime import datetime
from typing import Any

import msgspec


class EventKind(enum.StrEnum):
    """The kinds of events. A new kind changes the public interface."""

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

    ISSUE_OPENED = "issue.opened"
    ISSUE_CLAIMED = "issue.claimed"
    ISSUE_COMMENTED = "issue.commented"
    ISSUE_CLOSED = "issue.closed"
    ISSUE_REOPENED = "issue.reopened"

    SESSION_REGISTERED = "session.registered"
    SESSION_STATUS_CHANGED = "session.status_changed"
    SESSION_REPORTED = "session.reported"
    SESSION_ADOPTED = "session.adopted"
    SESSION_GRANTED = "session.granted"
    SESSION_RENAMED = "session.renamed"
    SESSION_LOST = "session.lost"
    SESSION_RESUMED = "session.resumed"
    SESSION_TURN_ENDED = "session.turn_ended"
    SESSION_ENDED = "session.ended"

    GATE_PASSED = "gate.passed"
    GATE_FAILED = "gate.failed"

    RUN_STARTED = "run.started"
    RUN_ATTEMPT = "run.attempt"
    RUN_WAITING = "run.waiting"
    RUN_ENDED = "run.ended"
    RUN_RESUMED = "run.resumed"

    MEMBER_CREATED = "member.created"
    MEMBER_CHANGED = "member.changed"
    TEAM_CREATED = "team.created"
    TEAM_CHANGED = "team.changed"

    MAIL_SENT = "mail.sent"
    MAIL_DELIVERED = "mail.delivered"
    MAIL_READ = "mail.read"
    MAIL_ACKNOWLEDGED = "mail.acknowledged"
    MAIL_EXPIRED = "mail.expired"
    MAIL_REROUTED = "mail.rerouted"
    MAIL_STOPPED = "mail.stopped"
    THREAD_CLAIMED = "thread.claimed"
    THREAD_RELEASED = "thread.released"

    ASK_OPENED = "ask.opened"
    ASK_ANSWERED = "ask.answered"
    ASK_WITHDRAWN = "ask.withdrawn"


class NewEvent(msgspec.Struct, frozen=True):
    """An event that a rule produced, before the store gives it a sequence number in the log."""

    kind: EventKind
    subject: str
    project: str | None = None
    data: dict[str, Any] = {}


class Event(msgspec.Struct, frozen=True):
    """One event of the log."""

    seq: int
    at: datetime
    project: str | None
    kind: str
    version: int
    actor: str
    subject: str
    data: dict[str, Any]


EVENT_VERSION = 1
