"""Whether an agent is there: what can be said of it from when it was last heard of. Pure."""

from __future__ import annotations

import enum
from datetime import datetime

import msgspec

from maestro.domain.sessions import Mode, Status


class Presence(enum.StrEnum):
    """How near an agent is."""

    ONLINE = "online"  # heard of within moments, or on the line
    AWAY = "away"  # not ended, but silent
    OFFLINE = "offline"  # nobody runs in that checkout


class Work(msgspec.Struct, frozen=True):
    """A task that an agent has in hand."""

    ref: str
    title: str


class Agent(msgspec.Struct, frozen=True, kw_only=True):
    """Who works in a checkout: its present session, else its last one."""

    address: str | None  # dave/vc
    project: str
    presence: Presence
    last_seen: datetime | None
    session_id: str | None = None
    name: str | None = None
    human: str | None = None
    mode: Mode | None = None
    status: Status | None = None
    tool: str | None = None
    member: str | None = None
    works_on: list[Work] = []


def presence(*, has_ended: bool, silent_seconds: float, seconds_max: float) -> Presence:
    """What its silence means."""
    if has_ended:
        return Presence.OFFLINE
    return Presence.ONLINE if silent_seconds <= seconds_max else Presence.AWAY
