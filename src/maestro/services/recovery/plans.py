"""Plans what is done about a session that ended by accident, in the transaction of its end. `recovering` does it."""

from __future__ import annotations

import msgspec

from maestro.core import errors, limits
from maestro.domain import recovery as rules
from maestro.domain.asks import Ask
from maestro.domain.recovery import Recovery, Step
from maestro.domain.sessions import Mode, Session, Source, Status
from maestro.store.base import Tx

RESUME, STOP, LEAVE, ADOPT_BY = "resume", "stop its workers", "leave them", "adopt by "


def plan(tx: Tx, session: Session, final: Status, *, source: Source) -> bool:
    """Whether a session that has just ended will be started again by itself."""
    known = tx.recoveries.get(session.id)
    if not rules.is_accident(session, final, source):
        if known is not None:
            tx.recoveries.clear(session.id)
        return False
    tries = rules.tried(known, tx.at)
    now = Recovery(session_id=session.id, tries=tries, resumed_at=known.resumed_at if known else None)
    due = rules.resume_at(known, tx.at)
    may = rules.may_resume(session, tx.spawns.get(session.id), final, tries=tries)
    if may and due is not None and _is_ours_to_resume(tx, session):
        tx.recoveries.put(msgspec.structs.replace(now, step=Step.RESUME, due_at=due))
        return True
    is_lead = session.mode is Mode.COORDINATE
    if known is not None or is_lead:
        tx.recoveries.put(msgspec.structs.replace(now, step=Step.HAND_OVER, due_at=tx.at if is_lead else None))
    return False


def _is_ours_to_resume(tx: Tx, session: Session) -> bool:
    """A worker's loss is for its coordinator to judge, if that one is there; not if both went down together."""
    if session.mode is Mode.COORDINATE or session.parent_id is None:
        return True
    above = tx.sessions.route(session.parent_id)
    if above is None or not above.is_live:
        return True
    known = tx.recoveries.get(above.id)
    if known is None or known.resumed_at is None:
        return False
    return (tx.at - known.resumed_at).total_seconds() < limits.sleep_grace_seconds


def choices(tx: Tx, coordinator: Session, *, can_resume: bool) -> list[str]:
    """What the person can do about the workers of a coordinator that is gone."""
    found = tx.sessions.page(coordinator.project_id, after="", limit=limits.page_items_max, active=True)
    others = [one.name for one in found if one.mode is Mode.COORDINATE]
    adopt = [f"{ADOPT_BY}{name}" for name in others[: limits.choices_max - 3]]
    return [*([RESUME] if can_resume else []), *adopt, STOP, LEAVE]


def decided(tx: Tx, ask: Ask, chosen: str) -> None:
    """The person's answer, if it is one to what becomes of workers: done as soon as it is written."""
    known = tx.recoveries.of_ask(ask.id)
    if known is None:
        return
    if chosen not in ask.choices:
        raise errors.Invalid(f"{chosen!r} is not one of the choices.", hint=f"Say one of: {', '.join(ask.choices)}.")
    wanted = msgspec.structs.replace(known, ask_id=None, due_at=tx.at)
    if chosen == RESUME:
        wanted = msgspec.structs.replace(wanted, step=Step.RESUME, tries=0, resumed_at=None)
    elif chosen == STOP:
        wanted = msgspec.structs.replace(wanted, step=Step.STOP)
    elif chosen.startswith(ADOPT_BY):
        adopter = tx.sessions.by_name(ask.project_id, chosen.removeprefix(ADOPT_BY))
        if adopter is None:
            raise errors.Conflict(f"{chosen.removeprefix(ADOPT_BY)} has ended.", hint="maestro session list --active")
        wanted = msgspec.structs.replace(wanted, step=Step.ADOPT, adopter_id=adopter.id)
    else:
        wanted = msgspec.structs.replace(wanted, due_at=None)
    tx.recoveries.put(wanted)
