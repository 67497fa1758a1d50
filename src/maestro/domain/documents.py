"""Documents and reports of tasks, as values."""

from __future__ import annotations

import enum
from datetime import datetime

import msgspec


class Document(msgspec.Struct, frozen=True):
    """A document or artifact of a task, without its content."""

    id: str
    task_id: str
    title: str
    file_name: str
    bytes: int
    sha256: str
    by: str
    created_at: datetime


class StoredContent(msgspec.Struct, frozen=True):
    """A document's content for the store: the bytes themselves, or the name of a blob."""

    body: bytes | None
    blob: str | None
    size: int
    sha256: str


class ReportKind(enum.StrEnum):
    """The state of the task that a report tells."""

    PROGRESS = "progress"
    COMPLETE = "complete"
    BLOCKED = "blocked"
    ERROR = "error"


class TaskReport(msgspec.Struct, frozen=True):
    """A session's or person's report about a task."""

    id: str
    task_id: str
    kind: ReportKind
    text: str
    by: str
    created_at: datetime
