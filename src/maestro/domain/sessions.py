"""Sessions: one run of an agent each, as coordinator or worker, spawned by Maestro or registered by hand."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from datetime import datetime

import msgspec

from maestro.domain.callers import Role
from maestro.domain.members import Permission


class SessionMode(enum.StrEnum):
    """The purpose of a session."""

    COORDINATE = "coordinate"
    EXECUTE = "execute"
    PLAN = "plan"


# Names of the first version, which scripts still use.
MODE_ALIASES = {"coordinator": SessionMode.COORDINATE, "worker": SessionMode.EXECUTE}


class SessionStatus(enum.StrEnum):
    """The status of a session."""

    SPAWNING = "spawning"
    WORKING = "working"
    IDLE = "idle"
    NEEDS_INPUT = "needs_input"
    COMPLETED = "completed"
    FAILED = "failed"
    STOPPED = "stopped"
    LOST = "lost"


ENDED_STATUSES = frozenset({SessionStatus.COMPLETED, SessionStatus.FAILED, SessionStatus.STOPPED, SessionStatus.LOST})
ACTIVE_STATUSES = frozenset(SessionStatus) - ENDED_STATUSES


class StatusSource(enum.StrEnum):
    """The source of a statement about a session's status."""

    HOOK = "hook"
    PROTOCOL = "protocol"
    PROCESS = "process"
    HEARTBEAT = "heartbeat"
    REPORT = "report"
    SERVER = "server"


class StatusSignal(msgspec.Struct, frozen=True):
    """The last statement of one source about a session's status; it counts until `until`."""

    source: StatusSource
    status: SessionStatus
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
    mode: SessionMode
    status: SessionStatus
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
    status_source: StatusSource
    status_at: datetime
    status_until: datetime | None
    seen_at: datetime
    successor_id: str | None
    grant: Permission = Permission.PLAN  # the highest level that the session may give to sessions that it starts


class SessionWindow(msgspec.Struct, frozen=True):
    """The window of a session: its terminal and directory, and the person's last prompt in the window."""

    session_id: str
    terminal: str = ""  # the terminal, for example `tmux %5, pts/3`; empty if unknown
    directory: str = ""
    last_prompt: str = ""  # the beginning of the person's last prompt


class Contact(msgspec.Struct, frozen=True):
    """Another session in short: its name, its status, and the time of its last sign of life."""

    id: str
    name: str
    mode: SessionMode
    status: SessionStatus
    address: str | None
    last_seen: datetime
    fresh: bool


def decide_status(signals: Iterable[StatusSignal], at: datetime) -> StatusSignal:
    """Return the signal that decides a session's status: the newest valid signal, else the newest one."""
    ordered = sorted(signals, key=lambda signal: signal.at)
    valid = [signal for signal in ordered if signal.until is None or signal.until > at]
    return (valid or ordered)[-1]


def is_lost(*, is_lease_over: bool, has_sign_of_life: bool, is_process_alive: bool) -> bool:
    """Return whether a session counts as lost: no lease, no sign of life and no process."""
    return is_lease_over and not has_sign_of_life and not is_process_alive


def contact_of(session: Session, *, at: datetime, seconds: int) -> Contact:
    """Return the contact of a session. It is fresh if a sign of life came within `seconds`."""
    is_fresh = session.ended_at is None and (at - session.seen_at).total_seconds() <= seconds
    return Contact(session.id, session.name, session.mode, session.status, session.address, session.seen_at, is_fresh)


def role_of(mode: SessionMode) -> Role:
    """Return the role of sessions in a mode: a coordinator may plan and assign, other sessions work."""
    return Role.COORDINATOR if mode is SessionMode.COORDINATE else Role.WORKER
