"""The server: status, event log, settings and backups."""

from __future__ import annotations

import enum
from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from maestro.core.errors import Conflict, Invalid, NotFound, NotPermitted, StorageFailed
from maestro.domain.callers import Callers
from maestro.domain.events import Event, EventKind
from maestro.domain.runs import RunStatus
from maestro.domain.sessions import SessionMode, SessionStatus
from maestro.operations import fields
from maestro.operations.base import GET, POST, CommandSyntax, Effect, InProject, ListPage, Operation, Request


class EmptyRequest(Request, frozen=True, kw_only=True):
    """A request without fields."""


class ServerStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The server's status, which every caller may see."""

    version: str
    pid: int
    home: str
    url: str | None
    started_at: datetime
    schema: int
    events: int
    sessions: int = 0  # live sessions
    runs: int = 0  # active runs
    problems: list[str] = []  # damage of the stored data


class FoundSessionState(enum.StrEnum):
    """The state of a session that had not ended when the server started."""

    ALIVE = "alive"
    RESUMED = "resumed"
    RESUMING = "resuming"
    LOST = "lost"
    REDONE = "redone"  # the session is lost, and its run repeats the task
    ENDED = "ended"
    SILENT = "silent"


class FoundSession(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    name: str
    project: str
    mode: SessionMode
    state: FoundSessionState
    status: SessionStatus


class FoundRun(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    task: str
    status: RunStatus
    completed: int
    tasks: int


class RecoveryReport(msgspec.Struct, frozen=True, kw_only=True):
    """The sessions and runs that the server found when it started, with their present state."""

    started_at: datetime
    rebooted: bool
    sessions: list[FoundSession]
    runs: list[FoundRun]


class StoppedServer(msgspec.Struct, frozen=True, kw_only=True):
    """The server that stops."""

    pid: int
    sessions: int = 0  # sessions that continue without the server
    home: str = ""  # the data directory; empty if its path is not UTF-8


class CreateBackup(Request, frozen=True, kw_only=True):
    file: fields.Path
    allow_missing: Annotated[
        bool, Meta(description="Write the backup although files beside the database are missing or damaged.")
    ] = False


class BackupResult(msgspec.Struct, frozen=True, kw_only=True):
    file: str
    bytes: int
    blobs: int
    verification_ms: float = 0.0  # the part of the time in which the backup was checked
    missing: list[str] = []  # files that the database names and that are not in the backup
    damaged: list[str] = []  # files in the backup whose content does not match their name


class ReadEvents(InProject, frozen=True, kw_only=True):
    since: (
        Annotated[
            int,
            Meta(
                ge=0,
                le=2**62,
                description="Only events after this sequence number; default with --follow: new events.",
                extra={"label": "SEQ"},
            ),
        ]
        | None
    ) = None
    kind: Annotated[
        list[EventKind], Meta(max_length=50, description="Only these kinds.", extra={"label": "KIND"})
    ] = []
    everywhere: Annotated[bool, Meta(description="All projects, not only the current project.")] = False
    follow: Annotated[bool, Meta(description="Keep showing new events.")] = False
    limit: fields.Limit | None = None


class Resync(msgspec.Struct, frozen=True, kw_only=True, tag="resync", tag_field="kind"):
    """The cursor is older than the log. The reader starts from this snapshot and continues after `seq`."""

    seq: int
    horizon: int
    tasks: list[dict[str, Any]]
    complete: bool


class EventList(ListPage, frozen=True, kw_only=True):
    events: list[Event]
    resync: Resync | None = None


class GetConfig(Request, frozen=True, kw_only=True):
    name: Annotated[str, Meta(max_length=100, description="One setting.", extra={"label": "NAME"})] | None = None


class SetConfig(Request, frozen=True, kw_only=True):
    name: Annotated[str, Meta(min_length=1, max_length=100, description="A setting.", extra={"label": "NAME"})]
    value: Annotated[
        str, Meta(max_length=1000, pattern=fields.TEXT, description="Its value.", extra={"label": "VALUE"})
    ]


class ShownSettings(msgspec.Struct, frozen=True, kw_only=True):
    settings: dict[str, Any]
    counts_after_restart: bool = False  # the change takes effect after a restart


STATUS = Operation(
    "server.status",
    EmptyRequest,
    ServerStatus,
    callers=Callers.ANYONE,
    http=GET("/api/status"),
    summary="Show whether the server runs, and its data directory and URL.",
    effect=Effect.READ,
    command=CommandSyntax("status"),
    examples=("maestro status",),
)
STOP = Operation(
    "server.stop",
    EmptyRequest,
    StoppedServer,
    callers=Callers.PERSON,
    http=POST("/api/stop"),
    summary="Stop the server; agents and data stay.",
    effect=Effect.ACTION,
    command=CommandSyntax("down"),
    examples=("maestro down",),
)
RECOVERY = Operation(
    "server.recovery",
    EmptyRequest,
    RecoveryReport,
    callers=Callers.PERSON,
    http=GET("/api/recovery"),
    summary="Show the sessions and runs that the server found at its start, and their present state.",
    effect=Effect.ACTION,
    command=CommandSyntax("recovery"),
    examples=("maestro recovery",),
)
BACKUP = Operation(
    "server.backup",
    CreateBackup,
    BackupResult,
    callers=Callers.PERSON,
    http=POST("/api/backup"),
    summary="Write all data into one file and verify the file; the server keeps working.",
    effect=Effect.ACTION,
    command=CommandSyntax("backup", ("file",)),
    examples=("maestro backup maestro.tar",),
    errors=(NotFound, Conflict, StorageFailed),
)
EVENTS = Operation(
    "events.list",
    ReadEvents,
    EventList,
    callers=Callers.KNOWN,
    http=GET("/api/events"),
    summary="Show or follow the event log.",
    effect=Effect.STREAM,
    command=CommandSyntax("events"),
    examples=("maestro events --since 120", "maestro events --follow --kind task.ready,task.completed"),
    errors=(NotFound, NotPermitted),
)
CONFIG_GET = Operation(
    "config.get",
    GetConfig,
    ShownSettings,
    callers=Callers.OWNERS,
    http=GET("/api/config"),
    summary="Show the settings.",
    effect=Effect.ACTION,
    command=CommandSyntax("config get", ("name",), aliases=("config",)),
    examples=("maestro config", "maestro config get events_days"),
    errors=(NotFound,),
)
CONFIG_SET = Operation(
    "config.set",
    SetConfig,
    ShownSettings,
    callers=Callers.PERSON,
    http=POST("/api/config"),
    summary="Change a setting.",
    effect=Effect.ACTION,
    command=CommandSyntax("config set", ("name", "value")),
    examples=("maestro config set human dana",),
    errors=(NotFound, Invalid),
)

ALL = (STATUS, STOP, RECOVERY, BACKUP, EVENTS, CONFIG_GET, CONFIG_SET)
