"""One run of an agent program: coordinator or worker, spawned or registered by hand."""

from __future__ import annotations

import enum
from datetime import datetime

import msgspec

from maestro.domain.callers import Role


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


def role_of(mode: Mode) -> Role:
    """Whoever coordinates may plan and assign; everyone else works."""
    return Role.COORDINATOR if mode is Mode.COORDINATE else Role.WORKER
