"""Plan the recovery of a session that ended by accident, in the transaction of its end.

The background job `recovery_job` carries the plan out.
"""

from __future__ import annotations

import msgspec

from maestro.core import errors, limits
from maestro.domain import recovery as rules
from maestro.domain.asks import Ask, AskChoice
from maestro.domain.recovery import RecoveryStep, SessionRecovery
from maestro.domain.sessions import Session, SessionMode, SessionStatus, StatusSource
from maestro.store.base import Tx

_RESUME = AskChoice("resume", "resume")
_STOP_WORKERS = AskChoice("stop", "stop its workers")
_LEAVE_WORKERS = AskChoice("leave", "leave them")
_ADOPT_PREFIX = "adopt:"  # followed by the id of the session that adopts the workers


def plan_recovery(tx: Tx, session: Session, final: SessionStatus, *, source: StatusSource) -> bool:
    """Plan the recovery of a session that has just ended. Return whether Maestro will start the session again."""
    known = tx.recoveries.get(session.id)
    if not rules.is_accident(session, final, source):
        if known is not None:
            tx.recoveries.clear_next_step(session.id)
        return False
    attempts = rules.recent_attempts(known, tx.at)
    recovery = SessionRecovery(
        session_id=session.id, attempts=attempts, resumed_at=known.resumed_at if known else None
    )
    due = rules.next_resume_at(known, tx.at)
    may_resume = rules.may_resume(session, tx.spawns.get(session.id), final, attempts=attempts)
    if may_resume and due is not None and _may_resume_without_coordinator(tx, session):
        tx.recoveries.put(msgspec.structs.replace(recovery, step=RecoveryStep.RESUME, due_at=due))
        return True
    is_coordinator = session.mode is SessionMode.COORDINATE
    if known is not None or is_coordinator:
        due_at = tx.at if is_coordinator else None
        tx.recoveries.put(msgspec.structs.replace(recovery, step=RecoveryStep.HAND_OVER, due_at=due_at))
    return False


def _may_resume_without_coordinator(tx: Tx, session: Session) -> bool:
    """Return whether Maestro may resume the session itself.

    The live coordinator of a worker decides about the worker, unless Maestro has resumed the coordinator a
    moment ago: then coordinator and worker ended in the same accident.
    """
    if session.mode is SessionMode.COORDINATE or session.parent_id is None:
        return True
    coordinator = tx.sessions.mail_route(session.parent_id)
    if coordinator is None or not coordinator.is_live:
        return True
    known = tx.recoveries.get(coordinator.id)
    if known is None or known.resumed_at is None:
        return False
    return (tx.at - known.resumed_at).total_seconds() < limits.sleep_grace_seconds


def recovery_choices(tx: Tx, coordinator: Session, *, can_resume: bool) -> list[AskChoice]:
    """Return the choices that the person has for the workers of an ended coordinator."""
    live = tx.sessions.list_page(coordinator.project_id, after="", limit=limits.page_items_max, active=True)
    coordinators = [session for session in live if session.mode is SessionMode.COORDINATE]
    adopt = [
        AskChoice(f"{_ADOPT_PREFIX}{session.id}", f"adopt by {session.name}")
        for session in coordinators[: limits.choices_max - 3]
    ]
    return [*([_RESUME] if can_resume else []), *adopt, _STOP_WORKERS, _LEAVE_WORKERS]


def apply_choice(tx: Tx, ask: Ask, code: str) -> None:
    """Plan the person's choice, if the ask is about an ended coordinator's workers.

    `recovery_job` carries the choice out at once. To leave the workers running needs no action.
    """
    known = tx.recoveries.of_ask(ask.id)
    if known is None:
        return
    if not code:
        raise errors.Invalid(
            f"The answer is not a choice of ask {ask.id}.", hint=f"Answer with one of: {', '.join(ask.choices)}."
        )
    recovery = msgspec.structs.replace(known, ask_id=None, due_at=tx.at)
    if code == _RESUME.code:
        recovery = msgspec.structs.replace(recovery, step=RecoveryStep.RESUME, attempts=0, resumed_at=None)
    elif code == _STOP_WORKERS.code:
        recovery = msgspec.structs.replace(recovery, step=RecoveryStep.STOP)
    elif code.startswith(_ADOPT_PREFIX):
        adopter = tx.sessions.get(code.removeprefix(_ADOPT_PREFIX))
        if adopter is None or adopter.ended_at is not None:
            raise errors.Conflict(
                f"{adopter.name if adopter else 'The session'} has ended and cannot adopt the workers.",
                hint="List the live sessions: maestro session list --active",
            )
        recovery = msgspec.structs.replace(recovery, step=RecoveryStep.ADOPT, adopter_id=adopter.id)
    else:
        recovery = msgspec.structs.replace(recovery, due_at=None)
    tx.recoveries.put(recovery)
