"""What is done about a session that ended by accident. In this order: it is started again; its workers get another
coordinator; the person is asked. Pure: what may be done, and when."""

from __future__ import annotations

import enum
from datetime import datetime, timedelta

import msgspec

from maestro.core import limits
from maestro.domain.sessions import FINAL, Mode, Session, Source, Status
from maestro.domain.spawns import Spawn


class Step(enum.StrEnum):
    """What is to be done next."""

    RESUME = "resume"
    HAND_OVER = "hand_over"  # its workers go to whoever is above it; if nobody is, the person is asked
    ADOPT = "adopt"  # they go to the one that the person named
    STOP = "stop"  # they are stopped


class Recovery(msgspec.Struct, frozen=True, kw_only=True):
    """One session's: what comes next, and what was tried."""

    session_id: str
    step: Step = Step.RESUME
    due_at: datetime | None = None  # none: nothing is to be done
    tries: int = 0
    resumed_at: datetime | None = None
    adopter_id: str | None = None
    ask_id: str | None = None


_OBSERVED = frozenset({Source.PROCESS, Source.HEARTBEAT})


def is_accident(session: Session, final: Status, source: Source) -> bool:
    """Whether nobody wanted this end: not the session, which would have said so, nor whoever may stop it."""
    return final in (Status.LOST, Status.FAILED) and source in _OBSERVED and session.status not in FINAL


def may_resume(session: Session, spawn: Spawn | None, final: Status, *, tries: int) -> bool:
    """Whether it can be started again by itself.

    A run tries its tasks again on its own. A worker's failure is a result, and for its coordinator to judge. What
    never ran will not run now.
    """
    if spawn is None or spawn.run_id is not None:
        return False
    if session.mode is not Mode.COORDINATE and final is not Status.LOST:
        return False
    return session.pid is not None or tries > 0


def resume_at(known: Recovery | None, at: datetime) -> datetime | None:
    """When it is started again: each time later. None once it was tried often enough."""
    tries = tried(known, at)
    waits = limits.resume_after_seconds
    return at + timedelta(seconds=waits[tries]) if tries < len(waits) else None


def tried(known: Recovery | None, at: datetime) -> int:
    """How often it was started again lately: one that ran well for a while has a new start."""
    if known is None or known.resumed_at is None:
        return known.tries if known else 0
    is_old = at - known.resumed_at > timedelta(seconds=limits.resume_forgotten_seconds)
    return 0 if is_old else known.tries
