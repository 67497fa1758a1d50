"""Sessions, as far as callers and claims need them."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from maestro.domain.callers import Callers, Role
from maestro.domain.sessions import Mode, Session, Status
from maestro.errors import Conflict, NameTaken, NotFound, NotPermitted
from maestro.operations import fields
from maestro.operations.base import GET, POST, Command, Effect, InProject, Operation, Request

_Pid = Annotated[int, Meta(ge=1, le=2**31 - 1, description="The agent's process.", extra={"label": "PID"})]
_SessionRef = Annotated[
    str, Meta(max_length=100, description="A session: its id or name.", extra={"label": "SESSION"})
]


class RegisterSession(InProject, frozen=True, kw_only=True):
    mode: Annotated[Mode, Meta(description="What it is for.")] = Mode.EXECUTE
    name: fields.Name | None = None
    parent: _SessionRef | None = None
    pid: _Pid | None = None
    path: Annotated[str, Meta(max_length=4096, pattern=fields.TEXT, description="The directory it works in.")] = ""


class RegisteredSession(Session, frozen=True, kw_only=True):
    """A new session with its token, which is shown this once."""

    token: str


class Heartbeat(Request, frozen=True, kw_only=True):
    status: Annotated[Status, Meta(description="What the session is doing.")] | None = None


class EndSession(InProject, frozen=True, kw_only=True):
    id: Annotated[_SessionRef, Meta(description="Another session than your own.")] | None = None
    status: Annotated[Status, Meta(description="How it ended.")] = Status.STOPPED


class Beat(Session, frozen=True, kw_only=True):
    """A session after its sign of life, with how many claims were renewed."""

    renewed: int


class WhoAmI(Request, frozen=True, kw_only=True):
    """Nothing to say: the server knows."""


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """Who the server takes the caller for."""

    role: Role
    name: str
    human: str
    session: Session | None = None
    project: str | None = None
    address: str | None = None
    held: list[str] = []


REGISTER = Operation(
    "session.register",
    RegisterSession,
    RegisteredSession,
    callers=Callers.KNOWN,
    http=POST("/api/sessions"),
    summary="Register an agent, also one that was started by hand.",
    effect=Effect.WRITE,
    command=Command("session register", hidden=("path",)),
    examples=("maestro session register --mode execute --name parser --json",),
    errors=(NotFound, NotPermitted, NameTaken, Conflict),
)
HEARTBEAT = Operation(
    "session.heartbeat",
    Heartbeat,
    Beat,
    callers=Callers.SESSIONS,
    http=POST("/api/sessions/heartbeat"),
    summary="Give a sign of life; it renews the session's claims.",
    effect=Effect.WRITE,
    command=Command("session heartbeat"),
    examples=("maestro session heartbeat --status working",),
    errors=(NotFound, Conflict),
)
END = Operation(
    "session.end",
    EndSession,
    Session,
    callers=Callers.KNOWN,
    http=POST("/api/sessions/end"),
    summary="End a session: its token is void, its claims are given back.",
    effect=Effect.WRITE,
    command=Command("session end", ("id",)),
    examples=("maestro session end", "maestro session end parser --status failed"),
    errors=(NotFound, NotPermitted, Conflict),
)
WHOAMI = Operation(
    "caller.whoami",
    WhoAmI,
    Identity,
    callers=Callers.ANYONE,
    http=GET("/api/whoami"),
    summary="Say who the server takes you for.",
    effect=Effect.READ,
    command=Command("whoami"),
    examples=("maestro whoami",),
)

ALL = (REGISTER, HEARTBEAT, END, WHOAMI)
