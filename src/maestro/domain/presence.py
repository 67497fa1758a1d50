"""Decide whether an agent is present, from the time of its last sign of life. Pure."""

from __future__ import annotations

import enum
from datetime import datetime

import msgspec

from maestro.domain.sessions import SessionMode, SessionStatus


class Presence(enum.StrEnum):
    """Whether an agent can be reached now."""

    ONLINE = "online"  # a sign of life came within `limits.presence_online_seconds_max`, or the agent is connected
    AWAY = "away"  # the session has not ended, but is silent
    OFFLINE = "offline"  # no session runs in the checkout


class CurrentTask(msgspec.Struct, frozen=True):
    """A task that an agent holds."""

    ref: str
    title: str


class Agent(msgspec.Struct, frozen=True, kw_only=True):
    """The agent of a checkout: the facts of its present session, else of its last session."""

    address: str | None  # dave/vc
    project: str
    presence: Presence
    last_seen: datetime | None
    session_id: str | None = None
    name: str | None = None
    human: str | None = None
    mode: SessionMode | None = None
    status: SessionStatus | None = None
    tool: str | None = None
    member: str | None = None
    works_on: list[CurrentTask] = []


def judge_presence(*, has_ended: bool, silent_seconds: float, seconds_max: float) -> Presence:
    """Return the presence that follows from the seconds since the last sign of life."""
    if has_ended:
        return Presence.OFFLINE
    return Presence.ONLINE if silent_seconds <= seconds_max else Presence.AWAY
