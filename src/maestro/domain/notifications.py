"""Notifications: short messages that call the person to an agent, on the desktop and over a webhook."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec

from maestro.domain.asks import AskKind


class NotificationKind(enum.StrEnum):
    """The change that a notification reports."""

    ASK_OPENED = "ask.opened"
    ASK_ANSWERED = "ask.answered"
    ASK_WITHDRAWN = "ask.withdrawn"
    SESSION_LOST = "session.lost"
    SESSION_FAILED = "session.failed"
    SESSION_BLOCKED = "session.blocked"
    TEST = "test"


class Notification(msgspec.Struct, frozen=True, kw_only=True):
    """A notification, and the attempts to send the notification."""

    id: str
    kind: NotificationKind
    project: str | None = None  # the project's name
    session: str | None = None  # the session's name
    session_id: str | None = None
    ask_id: str | None = None
    ask_kind: AskKind | None = None
    content: str = ""  # leaves the machine only with the setting `notify_content`
    created_at: datetime
    due_at: datetime | None = None  # when the next attempt is due; None: sent, or given up with a problem
    attempts: int = 0
    problem: str = ""  # why the last attempt failed


def next_attempt_at(attempts: int, at: datetime, pauses_seconds: Sequence[int]) -> datetime | None:
    """Return when to try again after `attempts` failures; None to give up. The pauses grow."""
    return at + timedelta(seconds=pauses_seconds[attempts - 1]) if attempts <= len(pauses_seconds) else None


def earliest_time(
    created_at: datetime, last_of_session: datetime | None, *, hold: timedelta, gap: timedelta
) -> datetime:
    """Return when a notification about a session may go out.

    The reason must hold for a moment, and two notifications about the same session keep a distance.
    """
    held = created_at + hold
    return held if last_of_session is None else max(held, last_of_session + gap)
