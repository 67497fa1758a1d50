"""What happened around a task, a session or a run, from assignment to final artifact."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from maestro.domain.callers import Callers
from maestro.errors import Invalid, NotFound
from maestro.operations import fields
from maestro.operations.base import GET, Command, Effect, InProject, Operation


class ShowTimeline(InProject, frozen=True, kw_only=True):
    task: Annotated[fields.TaskRef, Meta(description="Of a task.", extra={"label": "ID"})] | None = None
    session: (
        Annotated[str, Meta(min_length=1, max_length=100, description="Of a session.", extra={"label": "ID"})] | None
    ) = None
    run: (
        Annotated[str, Meta(min_length=1, max_length=100, description="Of a run.", extra={"label": "RUN"})] | None
    ) = None
    limit: fields.Limit = 200


class Moment(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that happened, with names where the log has ids."""

    seq: int
    at: datetime
    kind: str
    who: str
    what: str
    data: dict[str, Any]


class Timeline(msgspec.Struct, frozen=True, kw_only=True):
    """What happened, in order."""

    about: str
    moments: list[Moment]
    truncated: bool


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

ALL = (SHOW,)
