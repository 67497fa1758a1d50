"""External issue trackers: the synchronisation of a project's issues with its tracker."""

from __future__ import annotations

from datetime import datetime

import msgspec

from maestro.core.errors import Ambiguous, Conflict, NotFound
from maestro.domain.callers import Callers
from maestro.domain.trackers import TrackerKind
from maestro.operations.base import GET, POST, CommandSyntax, Effect, InProject, Operation


class TrackerRequest(InProject, frozen=True, kw_only=True):
    pass


class UnsyncedIssue(msgspec.Struct, frozen=True, kw_only=True):
    """An issue that the tracker refuses or no longer has."""

    issue: str
    ref: str | None  # the issue's id in the tracker
    problem: str
    retry_at: datetime | None


class TrackerStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The tracker of a project, and how far the tracker is behind."""

    project: str
    kind: TrackerKind
    path: str = ""  # the checkout that holds the tracker
    source: str = ""  # the settings file that names the tracker
    version: str = ""
    busy: bool = False
    issues: int = 0  # issues that Maestro and the tracker share
    behind_events: int = 0  # events of the log that are not yet processed (the count has an upper bound)
    behind_issues: int = 0  # issues with changes that the tracker does not have yet
    read_at: datetime | None = None
    succeeded_at: datetime | None = None
    failures: int = 0  # in a row
    retry_at: datetime | None = None
    problem: str = ""
    unsynced: list[UnsyncedIssue] = []
    hint: str = ""


STATUS = Operation(
    "tracker.status",
    TrackerRequest,
    TrackerStatus,
    callers=Callers.KNOWN,
    http=GET("/api/tracker"),
    summary="Show a project's tracker, and how far the tracker is behind.",
    effect=Effect.SCAN,
    command=CommandSyntax("tracker status"),
    examples=("maestro tracker status", "maestro tracker status --project beads"),
    errors=(NotFound, Ambiguous),
)
SYNC = Operation(
    "tracker.sync",
    TrackerRequest,
    TrackerStatus,
    callers=Callers.KNOWN,
    http=POST("/api/tracker/sync"),
    summary="Synchronise with the project's tracker now; hooks of the tracker can call this.",
    effect=Effect.ACTION,
    command=CommandSyntax("tracker sync"),
    examples=("maestro tracker sync",),
    errors=(NotFound, Ambiguous, Conflict),
)

ALL = (STATUS, SYNC)
