"""What an agent's terminal shows: read, followed, and looked at as if one sat in front of it."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from maestro.core.errors import Conflict, NotFound, NotPermitted
from maestro.domain.callers import Callers
from maestro.operations.base import GET, Command, Effect, Operation
from maestro.operations.sessions import OneSession

# What leaves an attached terminal: "ctrl-]", or ctrl- with a letter or one of these.
DETACH_KEY = r"^ctrl-[a-z\[\]\\^_]$"


class ReadLogs(OneSession, frozen=True, kw_only=True):
    limit: Annotated[
        int, Meta(ge=1, le=8 * 1024 * 1024, description="How many bytes at most, from the end.", extra={"label": "N"})
    ] = 64 * 1024
    tail: (
        Annotated[int, Meta(ge=0, le=1_000_000, description="Only the last lines.", extra={"label": "N"})] | None
    ) = None
    follow: Annotated[
        bool,
        Meta(description="Go on until the session ends (-f; on the command line). With --json: as an asciicast."),
    ] = False


class Logs(msgspec.Struct, frozen=True, kw_only=True):
    """The end of what a session's terminal showed."""

    session_id: str
    text: str
    truncated: bool
    name: str = ""
    folder: str = ""  # on the server's machine: where the transcript is


class AttachSession(OneSession, frozen=True, kw_only=True):
    read_only: Annotated[bool, Meta(description="Only look: what you type goes nowhere.")] = False
    detach_key: Annotated[
        str, Meta(pattern=DETACH_KEY, description="What leaves it again.", extra={"label": "KEY"})
    ] = "ctrl-]"


class AgentTerminal(msgspec.Struct, frozen=True, kw_only=True):
    """Where an agent's terminal is to be had: `control.sock` in that folder (docs/frames.md)."""

    session_id: str
    name: str
    folder: str
    columns: int
    rows: int
    attached: int  # how many look at it already


LOGS = Operation(
    "session.logs",
    ReadLogs,
    Logs,
    callers=Callers.KNOWN,
    http=GET("/api/sessions/{id}/logs"),
    summary="Show the end of what a session's terminal showed.",
    effect=Effect.ACTION,
    command=Command("session logs", ("id",)),
    examples=("maestro session logs parser", "maestro session logs parser -f --tail 20"),
    errors=(NotFound, NotPermitted, Conflict),
)
ATTACH = Operation(
    "session.attach",
    AttachSession,
    AgentTerminal,
    callers=Callers.OWNERS,
    http=GET("/api/sessions/{id}/terminal"),
    summary="Sit down at a running agent's terminal; Ctrl-] leaves it again.",
    effect=Effect.ACTION,
    command=Command("session attach", ("id",)),
    examples=("maestro session attach parser", "maestro session attach parser --read-only"),
    errors=(NotFound, NotPermitted, Conflict),
)

ALL = (LOGS, ATTACH)
