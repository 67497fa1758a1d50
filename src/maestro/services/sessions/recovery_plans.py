"""Plan the recovery of a session that ended by accident, in the transaction of its end.

The background job `recovery_job` carries the plan out.
"""

from __future__ import annotations

import msgspec

from maestro.core import errors, limits
from maestro.domain import recovery as rules
from maestro.domain.asks import Ask
from maestro.domain.recovery import RecoveryStep, SessionRecovery
from maestro.domain.sessions import Session, SessionMode, SessionStatus, StatusSource
from maestro.store.base import Tx

RESUME, STOP_WORKERS, LEAVE_WORKERS, ADOPT_BY = "resume", "stop its workers", "leave them", "adopt by "


def plan_recovery(tx: Tx, session: Session, final: SessionStatus, *, source: StatusSource) -> bool:
    """Plan the recovery of a session that has just ended. Return whether Maestro will start it again."""
    known = tx.recoveries.get(session.id)
    if not rules.is_accident(session, final, source):
        if known is not None:
            tx.recoveries.clear_next_step(session.id)
        return False
    attempts = rules.recent_attempts(known, tx.at)
    recovery = SessionRecovery(session_id=session.id, tries=attempts, resumed_at=known.resumed_at if known else None)
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

    The live coordinator of a worker decides about the worker, unless both went down together.
    """
    if session.mode is SessionMode.COORDINATE or session.parent_id is None:
        return True
    above = tx.sessions.mail_route(session.parent_id)
    if above is None or not above.is_live:
        return True
    known = tx.recoveries.get(above.id)
    if known is None or known.resumed_at is None:
        return False
    return (tx.at - known.resumed_at).total_seconds() < limits.sleep_grace_seconds


def recovery_choices(tx: Tx, coordinator: Session, *, can_resume: bool) -> list[str]:
    """Return the choices that the person has for the workers of an ended coordinator."""
    live = tx.sessions.list_page(coordinator.project_id, after="", limit=limits.page_items_max, active=True)
    coordinators = [session.name for session in live if session.mode is SessionMode.COORDINATE]
    adopt = [f"{ADOPT_BY}{name}" for name in coordinators[: limits.choices_max - 3]]
    return [*([RESUME] if can_resume else []), *adopt, STOP_WORKERS, LEAVE_WORKERS]


def apply_choice(tx: Tx, ask: Ask, choice: str) -> None:
    """Plan the person's choice, if the ask is about an ended coordinator's workers. The job acts on it at once."""
    known = tx.recoveries.of_ask(ask.id)
    if known is None:
        return
    if choice not in ask.choices:
        raise errors.Invalid(
            f"{choice!r} is not a choice of this ask.", hint=f"Answer with one of: {', '.join(ask.choices)}."
        )
    recovery = msgspec.structs.replace(known, ask_id=None, due_at=tx.at)
    if choice == RESUME:
        recovery = msgspec.structs.replace(recovery, step=RecoveryStep.RESUME, tries=0, resumed_at=None)
    elif choice == STOP_WORKERS:
        recovery = msgspec.structs.replace(recovery, step=RecoveryStep.STOP)
    elif choice.startswith(ADOPT_BY):
        adopter = tx.sessions.by_name(ask.project_id, choice.removeprefix(ADOPT_BY))
        if adopter is None:
            raise errors.Conflict(
                f"{choice.removeprefix(ADOPT_BY)} has ended and cannot adopt the workers.",
                hint="List the live sessions: maestro session list --active",
            )
        recovery = msgspec.structs.replace(recovery, step=RecoveryStep.ADOPT, adopter_id=adopter.id)
    else:
        recovery = msgspec.structs.replace(recovery, due_at=None)
    tx.recoveries.put(recovery)
