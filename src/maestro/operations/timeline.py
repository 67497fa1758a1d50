"""The timeline of a task, a session or a run, from assignment to final artifact."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from maestro.core.errors import Invalid, NotFound
from maestro.domain.callers import Callers
from maestro.domain.documents import Document, TaskReport
from maestro.domain.gates import GateResult
from maestro.domain.sessions import SessionMode, SessionStatus
from maestro.domain.tasks import TaskStatus
from maestro.operations import fields
from maestro.operations.base import GET, CommandSyntax, Effect, InProject, Operation


class TimelineSubject(InProject, frozen=True, kw_only=True):
    """The subject of a timeline: the request names a task, a session or a run."""

    task: Annotated[fields.TaskRef, Meta(description="The timeline of a task.", extra={"label": "ID"})] | None = None
    session: (
        Annotated[
            str, Meta(min_length=1, max_length=100, description="The timeline of a session.", extra={"label": "ID"})
        ]
        | None
    ) = None
    run: (
        Annotated[
            str, Meta(min_length=1, max_length=100, description="The timeline of a run.", extra={"label": "RUN"})
        ]
        | None
    ) = None


class ShowTimeline(TimelineSubject, frozen=True, kw_only=True):
    limit: fields.Limit = 200
    cursor: fields.PageCursor = ""


class TimelineEvent(msgspec.Struct, frozen=True, kw_only=True):
    """An event of the log, with names in the place of ids."""

    seq: int
    at: datetime
    kind: str
    actor: str
    subject: str
    data: dict[str, Any]


class EventHistory(msgspec.Struct, frozen=True, kw_only=True):
    """The events around a subject, in order."""

    about: str
    events: list[TimelineEvent]
    truncated: bool


class Timeline(EventHistory, frozen=True, kw_only=True):
    """A page of a timeline."""

    cursor: str | None = None  # where the next page begins


class ExportTimeline(TimelineSubject, frozen=True, kw_only=True):
    target: Annotated[
        str,
        Meta(max_length=4096, description="A run, a task or a session; or FILE, if a flag names the subject."),
    ] = ""
    file: Annotated[
        str,
        Meta(max_length=4096, description="The HTML file to write; - is standard output.", extra={"label": "FILE"}),
    ] = ""


class ExportedTask(msgspec.Struct, frozen=True, kw_only=True):
    """A task of an exported timeline, with its reports, gate results and documents."""

    ref: str
    title: str
    status: TaskStatus
    depends_on: list[str]
    started_at: datetime | None
    finished_at: datetime | None
    reason: str | None
    reports: list[TaskReport]
    gates: list[GateResult]
    documents: list[Document]


class ExportedSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session of an exported timeline: its tasks, times and result."""

    name: str
    mode: SessionMode
    status: SessionStatus
    tool: str | None
    tasks: list[str]
    created_at: datetime
    ended_at: datetime | None
    exit_code: int | None
    branch: str | None
    merged_into: str | None


class ExportedTimeline(EventHistory, frozen=True, kw_only=True):
    """A whole timeline with its subject, tasks and sessions, for one HTML page."""

    kind: str
    title: str
    status: str
    note: str
    at: datetime
    tasks: list[ExportedTask]
    sessions: list[ExportedSession]


SHOW = Operation(
    "timeline.show",
    ShowTimeline,
    Timeline,
    callers=Callers.KNOWN,
    http=GET("/api/timeline"),
    summary="Show the events around a task, a session or a run, in order.",
    effect=Effect.SCAN,
    command=CommandSyntax("timeline"),
    examples=('maestro timeline --task "#4"', "maestro timeline --run run_01…"),
    errors=(NotFound, Invalid),
)

EXPORT = Operation(
    "timeline.export",
    ExportTimeline,
    ExportedTimeline,
    callers=Callers.KNOWN,
    http=GET("/api/timeline/export"),
    summary="Write the timeline of a run, a task or a session as one HTML page.",
    effect=Effect.SCAN,
    command=CommandSyntax("timeline export", ("target", "file")),
    examples=("maestro timeline export run_01… run.html", 'maestro timeline export "#4" task.html'),
    errors=(NotFound, Invalid),
)

ALL = (SHOW, EXPORT)
