"""One run of an agent program: coordinator or worker, spawned or registered by hand."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from datetime import datetime

import msgspec

from maestro.domain.callers import Role
from maestro.domain.members import Permission


class Mode(enum.StrEnum):
    """What a session is for."""

    COORDINATE = "coordinate"
    EXECUTE = "execute"
    PLAN = "plan"


# The first version's names, still written in people's scripts.
MODE_ALIASES = {"coordinator": Mode.COORDINATE, "worker": Mode.EXECUTE}


class Status(enum.StrEnum):
    """What is known of a session."""

    SPAWNING = "spawning"
    WORKING = "working"
    IDLE = "idle"
    NEEDS_INPUT = "needs_input"
    COMPLETED = "completed"
    FAILED = "failed"
    STOPPED = "stopped"
    LOST = "lost"


FINAL = frozenset({Status.COMPLETED, Status.FAILED, Status.STOPPED, Status.LOST})
ACTIVE = frozenset(Status) - FINAL


class Source(enum.StrEnum):
    """Where a word about a session's status came from."""

    HOOK = "hook"
    PROTOCOL = "protocol"
    PROCESS = "process"
    HEARTBEAT = "heartbeat"
    REPORT = "report"
    SERVER = "server"


class Signal(msgspec.Struct, frozen=True):
    """The last thing one source said of a session, and until when it counts."""

    source: Source
    status: Status
    at: datetime
    until: datetime | None
    detail: str = ""


class Session(msgspec.Struct, frozen=True):
    """A session's record."""

    id: str
    project_id: str
    workspace_id: str | None
    address: str | None
    name: str
    mode: Mode
    status: Status
    parent_id: str | None
    human: str
    pid: int | None
    pid_started: str | None
    lease_until: datetime
    created_at: datetime
    updated_at: datetime
    ended_at: datetime | None
    member: str | None
    tool: str | None
    tasks: list[str]
    status_source: Source
    status_at: datetime
    status_until: datetime | None
    seen_at: datetime
    successor_id: str | None
    grant: Permission = Permission.PLAN  # the highest permission level that it may give to sessions it starts


class Contact(msgspec.Struct, frozen=True):
    """Another session as one sees it from afar: who it is, and how long ago it was heard of."""

    id: str
    name: str
    mode: Mode
    status: Status
    address: str | None
    last_seen: datetime
    fresh: bool


def judge(signals: Iterable[Signal], at: datetime) -> Signal:
    """What a session's status is: the newest word that still counts; if none does, the newest there was."""
    ordered = sorted(signals, key=lambda signal: signal.at)
    valid = [signal for signal in ordered if signal.until is None or signal.until > at]
    return (valid or ordered)[-1]


def is_lost(*, lease_is_over: bool, was_heard: bool, process_lives: bool) -> bool:
    """Only when nothing is left that speaks for it."""
    return lease_is_over and not was_heard and not process_lives


def contact(session: Session, *, at: datetime, seconds: int) -> Contact:
    """How a coordinator looks to its workers."""
    fresh = session.ended_at is None and (at - session.seen_at).total_seconds() <= seconds
    return Contact(session.id, session.name, session.mode, session.status, session.address, session.seen_at, fresh)


def role_of(mode: Mode) -> Role:
    """Whoever coordinates may plan and assign; everyone else works."""
    return Role.COORDINATOR if mode is Mode.COORDINATE else Role.WORKER
