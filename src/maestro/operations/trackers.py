"""Trackers beside Maestro: how far a project's issues and its tracker are in step."""

from __future__ import annotations

from datetime import datetime

import msgspec

from maestro.core.errors import Ambiguous, Conflict, NotFound
from maestro.domain.callers import Callers
from maestro.domain.trackers import Kind
from maestro.operations.base import GET, POST, Command, Effect, InProject, Operation


class OfProject(InProject, frozen=True, kw_only=True):
    pass


class Untold(msgspec.Struct, frozen=True, kw_only=True):
    """An issue that the tracker does not take, or no longer has."""

    issue: str
    ref: str | None  # its id in the tracker
    problem: str
    retry_at: datetime | None


class TrackerStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Where a project's issues live, and what is still to be told."""

    project: str
    kind: Kind
    path: str = ""  # the checkout that it is in
    source: str = ""  # the file that says so
    version: str = ""
    busy: bool = False
    issues: int = 0  # on both sides
    behind_events: int = 0  # lines of the log that were not looked at (at most this many are counted)
    behind_issues: int = 0  # issues about which something is still to be told
    looked_at: datetime | None = None
    ok_at: datetime | None = None
    failures: int = 0  # in a row
    retry_at: datetime | None = None
    problem: str = ""
    untold: list[Untold] = []
    hint: str = ""


STATUS = Operation(
    "tracker.status",
    OfProject,
    TrackerStatus,
    callers=Callers.KNOWN,
    http=GET("/api/tracker"),
    summary="Show where a project's issues live, and how far its tracker is behind.",
    effect=Effect.SCAN,
    command=Command("tracker status"),
    examples=("maestro tracker status", "maestro tracker status --project beads"),
    errors=(NotFound, Ambiguous),
)
SYNC = Operation(
    "tracker.sync",
    OfProject,
    TrackerStatus,
    callers=Callers.KNOWN,
    http=POST("/api/tracker/sync"),
    summary="Have the project's tracker read and told now; for hooks of the tracker, and for the impatient.",
    effect=Effect.ACTION,
    command=Command("tracker sync"),
    examples=("maestro tracker sync",),
    errors=(NotFound, Ambiguous, Conflict),
)

ALL = (STATUS, SYNC)
