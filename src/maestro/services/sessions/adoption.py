"""Handing workers to another coordinator: when theirs is gone, or when the person or those above say so."""

from __future__ import annotations

from maestro.core import errors, limits
from maestro.domain.callers import Caller, Role
from maestro.domain.events import Change, Kind
from maestro.domain.sessions import Mode, Session
from maestro.domain.tasks import Priority
from maestro.operations import sessions as ops
from maestro.services import asks
from maestro.services.sessions import kin, notices
from maestro.services.sessions.views import require_live
from maestro.store.base import Tx


def adopt(tx: Tx, caller: Caller, request: ops.AdoptSessions) -> ops.Adopted:
    """Give workers a new coordinator; a coordinator that is gone is succeeded by it, also in its mail."""
    adopter = _adopter(tx, caller, request)
    taken: list[Session] = []
    for ref in dict.fromkeys(request.ids):
        session = kin.named(tx, caller, ref, project=request.project)
        if session.project_id != adopter.project_id:
            raise errors.Conflict(f"{session.name} belongs to another project than {adopter.name}.")
        _may_adopt(tx, caller, session)
        taken += _take(tx, caller, session, adopter)
    if not taken:
        raise errors.NotFound("There was nobody to adopt.", hint="maestro session list --active")
    return ops.Adopted(by=adopter.id, sessions=[tx.sessions.get(one.id) or one for one in taken])


def _adopter(tx: Tx, caller: Caller, request: ops.AdoptSessions) -> Session:
    if request.by is None and not caller.is_session:
        raise errors.Invalid("Who adopts them?", hint="Say --by SESSION.")
    adopter = kin.named(tx, caller, request.by, project=request.project) if request.by else kin.own(tx, caller)
    require_live(adopter)
    if adopter.mode is not Mode.COORDINATE:
        raise errors.Conflict(f"{adopter.name} is no coordinator.", data={"id": adopter.id, "mode": adopter.mode})
    if caller.is_session and adopter.id != caller.session_id:
        kin.may_act_on(tx, caller, adopter, what="hand workers to")
    return adopter


def take_over(tx: Tx, caller: Caller, gone: Session, adopter: Session) -> None:
    """All workers of a coordinator that is gone go to another, without anyone asking for it."""
    _take(tx, caller, gone, adopter)


def _take(tx: Tx, caller: Caller, session: Session, adopter: Session) -> list[Session]:
    if session.ended_at is None:
        if kin.is_above(tx, session.id, adopter):
            raise errors.Conflict(f"{session.name} is {adopter.name}, or above it.")
        _hand(tx, caller, session, adopter)
        return [session]
    tx.sessions.succeed(session.id, successor_id=adopter.id)
    tx.recoveries.clear(session.id)
    asks.withdraw_all(tx, session.id, actor=caller.name)  # what becomes of its workers
    workers = tx.sessions.children(session.id, limit=limits.sessions_in_tree_max)
    for worker in workers:
        _hand(tx, caller, worker, adopter)
    if workers and caller.session_id != adopter.id:
        notices.to_session(
            tx,
            adopter,
            subject=f"You are the coordinator of {session.name}'s workers now",
            text=f"{session.name} ({session.id}) {notices.words_for(session.status)}. "
            "Its workers, and mail for it, are yours: "
            + ", ".join(f"{worker.name} ({worker.id})" for worker in workers[: limits.page_items_default]),
            priority=Priority.HIGH,
        )
    return workers


def _hand(tx: Tx, caller: Caller, worker: Session, adopter: Session) -> None:
    tx.sessions.adopt(worker.id, parent_id=adopter.id, at=tx.at)
    data = {"by": adopter.id, "was": worker.parent_id}
    tx.log(Change(Kind.SESSION_ADOPTED, worker.id, worker.project_id, data), actor=caller.name)
    notices.to_session(
        tx,
        worker,
        subject=f"{adopter.name} is your coordinator now",
        text=f"Write to `coordinator`, or to {adopter.name} ({adopter.id}).",
    )


def _may_adopt(tx: Tx, caller: Caller, session: Session) -> None:
    """The person; whoever is above; and any coordinator of the project once theirs is gone."""
    if caller.role is Role.PERSON or kin.is_above(tx, caller.session_id, session):
        return
    above = session if session.ended_at is not None else None
    if above is None and session.parent_id is not None:
        above = tx.sessions.get(session.parent_id)
    if above is not None and above.ended_at is not None and above.project_id == caller.project_id:
        return
    whose = "has a coordinator that is there" if above is not None else "has nobody above it, and is there"
    raise errors.NotPermitted(f"{session.name} {whose}.", hint="Ask that one, or the person, to hand it over.")
