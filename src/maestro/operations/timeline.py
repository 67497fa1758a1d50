"""What happened around a task, a session or a run, from assignment to final artifact."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from maestro.core.errors import Invalid, NotFound
from maestro.domain.callers import Callers
from maestro.domain.documents import Document, Report
from maestro.domain.gates import GateResult
from maestro.domain.sessions import Mode
from maestro.domain.sessions import Status as SessionStatus
from maestro.domain.tasks import Status
from maestro.operations import fields
from maestro.operations.base import GET, Command, Effect, InProject, Operation


class OfWhat(InProject, frozen=True, kw_only=True):
    """One of these is named."""

    task: Annotated[fields.TaskRef, Meta(description="Of a task.", extra={"label": "ID"})] | None = None
    session: (
        Annotated[str, Meta(min_length=1, max_length=100, description="Of a session.", extra={"label": "ID"})] | None
    ) = None
    run: (
        Annotated[str, Meta(min_length=1, max_length=100, description="Of a run.", extra={"label": "RUN"})] | None
    ) = None


class ShowTimeline(OfWhat, frozen=True, kw_only=True):
    limit: fields.Limit = 200
    cursor: fields.PageCursor = ""


class Moment(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that happened, with names where the log has ids."""

    seq: int
    at: datetime
    kind: str
    who: str
    what: str
    data: dict[str, Any]


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """What happened, in order."""

    about: str
    moments: list[Moment]
    truncated: bool


class Timeline(Told, frozen=True, kw_only=True):
    """A page of what happened."""

    cursor: str | None = None  # where the next one begins


class ExportTimeline(OfWhat, frozen=True, kw_only=True):
    target: Annotated[
        str,
        Meta(max_length=4096, description="A run, a task or a session; or FILE, with one of the flags."),
    ] = ""
    file: Annotated[
        str,
        Meta(max_length=4096, description="The page to write; - is standard output.", extra={"label": "FILE"}),
    ] = ""


class StoryTask(msgspec.Struct, frozen=True, kw_only=True):
    """A task of a story, with what was made of it."""

    ref: str
    title: str
    status: Status
    depends_on: list[str]
    started_at: datetime | None
    finished_at: datetime | None
    reason: str | None
    reports: list[Report]
    gates: list[GateResult]
    documents: list[Document]


class StorySession(msgspec.Struct, frozen=True, kw_only=True):
    """A session of a story: who worked when, on what, and how it ended."""

    name: str
    mode: Mode
    status: SessionStatus
    tool: str | None
    tasks: list[str]
    created_at: datetime
    ended_at: datetime | None
    exit_code: int | None
    branch: str | None
    merged_into: str | None


class Story(Told, frozen=True, kw_only=True):
    """A timeline with what it is about, whole enough for a page of its own."""

    kind: str
    title: str
    status: str
    note: str
    at: datetime
    tasks: list[StoryTask]
    sessions: list[StorySession]


SHOW = Operation(
    "timeline.show",
    ShowTimeline,
    Timeline,
    callers=Callers.KNOWN,
    http=GET("/api/timeline"),
    summary="Show what happened around a task, a session or a run, in order.",
    effect=Effect.SCAN,
    command=Command("timeline"),
    examples=('maestro timeline --task "#4"', "maestro timeline --run run_01…"),
    errors=(NotFound, Invalid),
)

EXPORT = Operation(
    "timeline.export",
    ExportTimeline,
    Story,
    callers=Callers.KNOWN,
    http=GET("/api/timeline/export"),
    summary="Write what happened around a run, a task or a session as one HTML page.",
    effect=Effect.SCAN,
    command=Command("timeline export", ("target", "file")),
    examples=("maestro timeline export run_01… run.html", 'maestro timeline export "#4" task.html'),
    errors=(NotFound, Invalid),
)

ALL = (SHOW, EXPORT)
