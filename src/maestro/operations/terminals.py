"""An agent's terminal: read or follow the transcript, and attach to the terminal."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from maestro.core.errors import Conflict, NotFound, NotPermitted
from maestro.domain.callers import Callers
from maestro.operations.base import GET, CommandSyntax, Effect, Operation
from maestro.operations.sessions import OneSession

# The key that detaches from a terminal: "ctrl-" with a letter or a listed sign, for example "ctrl-]".
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
        Meta(description="Follow until the session ends (-f; only in the command). With --json: as an asciicast."),
    ] = False


class SessionLogs(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a session's transcript."""

    session_id: str
    text: str
    truncated: bool
    name: str = ""
    folder: str = ""  # the transcript's folder on the server's machine


class AttachSession(OneSession, frozen=True, kw_only=True):
    read_only: Annotated[bool, Meta(description="Send no input to the terminal.")] = False
    detach_key: Annotated[
        str, Meta(pattern=DETACH_KEY, description="The key that detaches.", extra={"label": "KEY"})
    ] = "ctrl-]"


class AgentTerminal(msgspec.Struct, frozen=True, kw_only=True):
    """How to reach an agent's terminal: through `control.sock` in `folder` (docs/frames.md)."""

    session_id: str
    name: str
    folder: str
    columns: int
    rows: int
    attached: int  # the number of attached clients


LOGS = Operation(
    "session.logs",
    ReadLogs,
    SessionLogs,
    callers=Callers.KNOWN,
    http=GET("/api/sessions/{id}/logs"),
    summary="Show the end of a session's transcript.",
    effect=Effect.ACTION,
    command=CommandSyntax("session logs", ("id",)),
    examples=("maestro session logs parser", "maestro session logs parser -f --tail 20"),
    errors=(NotFound, NotPermitted, Conflict),
)
ATTACH = Operation(
    "session.attach",
    AttachSession,
    AgentTerminal,
    callers=Callers.OWNERS,
    http=GET("/api/sessions/{id}/terminal"),
    summary="Attach to a running agent's terminal; Ctrl-] detaches.",
    effect=Effect.ACTION,
    command=CommandSyntax("session attach", ("id",)),
    examples=("maestro session attach parser", "maestro session attach parser --read-only"),
    errors=(NotFound, NotPermitted, Conflict),
)

ALL = (LOGS, ATTACH)
