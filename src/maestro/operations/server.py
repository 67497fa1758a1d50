"""The server itself: its state, its log, its settings, its backups."""

from __future__ import annotations

import enum
from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from maestro.core.errors import Conflict, Invalid, NotFound, NotPermitted, StorageFailed
from maestro.domain.callers import Callers
from maestro.domain.events import Event, Kind
from maestro.domain.runs import RunStatus
from maestro.domain.sessions import Mode
from maestro.domain.sessions import Status as SessionStatus
from maestro.operations import fields
from maestro.operations.base import GET, POST, Command, Cursor, Effect, InProject, Operation, Request


class Nothing(Request, frozen=True, kw_only=True):
    """Nothing to say."""


class ServerStatus(msgspec.Struct, frozen=True, kw_only=True):
    """What a server says of itself to anyone."""

    version: str
    pid: int
    home: str
    url: str | None
    started_at: datetime
    schema: int
    events: int
    sessions: int = 0  # that live
    runs: int = 0  # that go on
    problems: list[str] = []  # damage of the stored data


class Fate(enum.StrEnum):
    """What became of a session that had not ended when the server started."""

    ALIVE = "alive"
    RESUMED = "resumed"
    RESUMING = "resuming"
    LOST = "lost"
    REDONE = "redone"  # lost, and its run does its task again
    ENDED = "ended"
    UNHEARD = "unheard"


class FoundSession(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    name: str
    project: str
    mode: Mode
    fate: Fate
    status: SessionStatus


class FoundRun(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    task: str
    status: RunStatus
    completed: int
    tasks: int


class Recovery(msgspec.Struct, frozen=True, kw_only=True):
    """What a server found when it started, and what became of it since."""

    started_at: datetime
    rebooted: bool
    sessions: list[FoundSession]
    runs: list[FoundRun]


class Stopped(msgspec.Struct, frozen=True, kw_only=True):
    """The server that was told to stop."""

    pid: int
    sessions: int = 0  # that go on without it
    home: str = ""  # the data directory; empty if its path is not UTF-8


class Backup(Request, frozen=True, kw_only=True):
    file: fields.Path
    allow_missing: Annotated[
        bool, Meta(description="Write the backup although files beside the database are missing or damaged.")
    ] = False


class BackupDone(msgspec.Struct, frozen=True, kw_only=True):
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
                description="Only what came after this place; from now on if following.",
                extra={"label": "SEQ"},
            ),
        ]
        | None
    ) = None
    kind: Annotated[list[Kind], Meta(max_length=50, description="Only these kinds.", extra={"label": "KIND"})] = []
    everywhere: Annotated[bool, Meta(description="All projects, not only the one at hand.")] = False
    follow: Annotated[bool, Meta(description="Go on with what happens from now.")] = False
    limit: fields.Limit | None = None


class Resync(msgspec.Struct, frozen=True, kw_only=True, tag="resync", tag_field="kind"):
    """The cursor is older than the log. Start from this snapshot and go on after `seq`."""

    seq: int
    horizon: int
    tasks: list[dict[str, Any]]
    complete: bool


class EventList(Cursor, frozen=True, kw_only=True):
    events: list[Event]
    resync: Resync | None = None


class GetConfig(Request, frozen=True, kw_only=True):
    name: Annotated[str, Meta(max_length=100, description="One setting.", extra={"label": "NAME"})] | None = None


class SetConfig(Request, frozen=True, kw_only=True):
    name: Annotated[str, Meta(min_length=1, max_length=100, description="A setting.", extra={"label": "NAME"})]
    value: Annotated[
        str, Meta(max_length=1000, pattern=fields.TEXT, description="Its value.", extra={"label": "VALUE"})
    ]


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    settings: dict[str, Any]
    counts_after_restart: bool = False  # what was changed is not in force yet


STATUS = Operation(
    "server.status",
    Nothing,
    ServerStatus,
    callers=Callers.ANYONE,
    http=GET("/api/status"),
    summary="Say that the server runs, and where.",
    effect=Effect.READ,
    command=Command("status"),
    examples=("maestro status",),
)
STOP = Operation(
    "server.stop",
    Nothing,
    Stopped,
    callers=Callers.PERSON,
    http=POST("/api/stop"),
    summary="Stop the server; agents and data stay.",
    effect=Effect.ACTION,
    command=Command("down"),
    examples=("maestro down",),
)
RECOVERY = Operation(
    "server.recovery",
    Nothing,
    Recovery,
    callers=Callers.PERSON,
    http=GET("/api/recovery"),
    summary="Say what was running when the server started, and what became of it.",
    effect=Effect.ACTION,
    command=Command("recovery"),
    examples=("maestro recovery",),
)
BACKUP = Operation(
    "server.backup",
    Backup,
    BackupDone,
    callers=Callers.PERSON,
    http=POST("/api/backup"),
    summary="Write everything into one file and verify it, while the server works on.",
    effect=Effect.ACTION,
    command=Command("backup", ("file",)),
    examples=("maestro backup maestro.tar",),
    errors=(NotFound, Conflict, StorageFailed),
)
EVENTS = Operation(
    "events.list",
    ReadEvents,
    EventList,
    callers=Callers.KNOWN,
    http=GET("/api/events"),
    summary="Read the event log, and follow it.",
    effect=Effect.STREAM,
    command=Command("events"),
    examples=("maestro events --since 120", "maestro events --follow --kind task.ready,task.completed"),
    errors=(NotFound, NotPermitted),
)
CONFIG_GET = Operation(
    "config.get",
    GetConfig,
    Settings,
    callers=Callers.OWNERS,
    http=GET("/api/config"),
    summary="Show the settings.",
    effect=Effect.ACTION,
    command=Command("config get", ("name",), aliases=("config",)),
    examples=("maestro config", "maestro config get events_days"),
    errors=(NotFound,),
)
CONFIG_SET = Operation(
    "config.set",
    SetConfig,
    Settings,
    callers=Callers.PERSON,
    http=POST("/api/config"),
    summary="Change a setting.",
    effect=Effect.ACTION,
    command=Command("config set", ("name", "value")),
    examples=("maestro config set human dana",),
    errors=(NotFound, Invalid),
)

ALL = (STATUS, STOP, RECOVERY, BACKUP, EVENTS, CONFIG_GET, CONFIG_SET)
