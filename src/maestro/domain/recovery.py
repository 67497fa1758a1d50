"""Decide how to recover a session that ended by accident, and when. Pure.

First Maestro resumes the session. If that fails, the session's workers get another coordinator. If no coordinator is
there, Maestro asks the person.
"""

from __future__ import annotations

import enum
from datetime import datetime, timedelta

import msgspec

from maestro.core import limits
from maestro.domain.sessions import ENDED_STATUSES, Session, SessionMode, SessionStatus, StatusSource
from maestro.domain.spawns import Spawn


class RecoveryStep(enum.StrEnum):
    """The next step of a recovery."""

    RESUME = "resume"
    HAND_OVER = "hand_over"  # the workers go to the coordinator of the session; without one, Maestro asks the person
    ADOPT = "adopt"  # the workers go to the session that the person named
    STOP = "stop"  # the workers are stopped


class SessionRecovery(msgspec.Struct, frozen=True, kw_only=True):
    """The recovery of one session: the next step and the attempts so far."""

    session_id: str
    step: RecoveryStep = RecoveryStep.RESUME
    due_at: datetime | None = None  # None: no step is due
    attempts: int = 0
    resumed_at: datetime | None = None
    adopter_id: str | None = None
    ask_id: str | None = None


_OBSERVED = frozenset({StatusSource.PROCESS, StatusSource.HEARTBEAT})


def is_accident(session: Session, final: SessionStatus, source: StatusSource) -> bool:
    """Return whether a session ended by accident: its process vanished, and neither a report nor a stop ended it."""
    return (
        final in (SessionStatus.LOST, SessionStatus.FAILED)
        and source in _OBSERVED
        and session.status not in ENDED_STATUSES
    )


def may_resume(session: Session, spawn: Spawn | None, final: SessionStatus, *, attempts: int) -> bool:
    """Return whether Maestro may resume a session without the person.

    A session of a run is not resumed: the run attempts its tasks again. A failed worker is not resumed: the failure
    is a result for the coordinator. A session that never ran is not resumed: its program would not start now either.
    """
    if spawn is None or spawn.run_id is not None:
        return False
    if session.mode is not SessionMode.COORDINATE and final is not SessionStatus.LOST:
        return False
    return session.pid is not None or attempts > 0


def next_resume_at(recovery: SessionRecovery | None, at: datetime) -> datetime | None:
    """Return when to resume a session: later after each attempt; None after the last attempt."""
    attempts = recent_attempts(recovery, at)
    delays = limits.resume_delays_seconds
    return at + timedelta(seconds=delays[attempts]) if attempts < len(delays) else None


def recent_attempts(recovery: SessionRecovery | None, at: datetime) -> int:
    """Return the number of recent resume attempts. Attempts no longer count once the last resume is long ago."""
    if recovery is None or recovery.resumed_at is None:
        return recovery.attempts if recovery else 0
    is_old = at - recovery.resumed_at > timedelta(seconds=limits.resume_attempts_forgotten_seconds)
    return 0 if is_old else recovery.attempts
