"""Give workers another coordinator: when their coordinator has ended, or on request of the person or a superior."""

from __future__ import annotations

from maestro.core import errors, limits
from maestro.domain.callers import Caller, Role
from maestro.domain.events import EventKind, NewEvent
from maestro.domain.priorities import Priority
from maestro.domain.sessions import Session, SessionMode
from maestro.operations import sessions as ops
from maestro.services import effects
from maestro.services.access import session_relations
from maestro.services.sessions import notices
from maestro.services.sessions.views import require_live_session
from maestro.store.base import Tx


def adopt_sessions(tx: Tx, caller: Caller, request: ops.AdoptSessions) -> ops.AdoptedSessions:
    """Give workers a new coordinator, which also succeeds an ended coordinator and gets its mail."""
    adopter = _adopter(tx, caller, request)
    adopted: list[Session] = []
    for ref in dict.fromkeys(request.ids):
        session = session_relations.find_session(tx, caller, ref, project=request.project)
        if session.project_id != adopter.project_id:
            raise errors.Conflict(f"{session.name} belongs to another project than {adopter.name}.")
        _require_may_adopt(tx, caller, session)
        adopted += _adopt_session_or_workers(tx, caller, session, adopter)
    if not adopted:
        raise errors.NotFound(
            "The named sessions have no live workers to adopt.",
            hint="List the live sessions: maestro session list --active",
        )
    return ops.AdoptedSessions(
        by=adopter.id, sessions=[tx.sessions.get(session.id) or session for session in adopted]
    )


def _adopter(tx: Tx, caller: Caller, request: ops.AdoptSessions) -> Session:
    if request.by is None and not caller.is_session:
        raise errors.Invalid("The session that adopts is missing.", hint="Name it with --by SESSION.")
    adopter = (
        session_relations.find_session(tx, caller, request.by, project=request.project)
        if request.by
        else session_relations.own_session(tx, caller)
    )
    require_live_session(adopter)
    if adopter.mode is not SessionMode.COORDINATE:
        raise errors.Conflict(
            f"{adopter.name} is not a coordinator and cannot adopt workers.",
            data={"id": adopter.id, "mode": adopter.mode},
        )
    if caller.is_session and adopter.id != caller.session_id:
        session_relations.require_authority(tx, caller, adopter, action="hand workers to")
    return adopter


def take_over_workers(tx: Tx, caller: Caller, gone: Session, adopter: Session) -> None:
    """Give all workers of an ended coordinator to another one, without a request."""
    _adopt_session_or_workers(tx, caller, gone, adopter)


def _adopt_session_or_workers(tx: Tx, caller: Caller, session: Session, adopter: Session) -> list[Session]:
    """Adopt a live session itself, or the workers of an ended coordinator. Return the adopted sessions."""
    if session.ended_at is None:
        if session_relations.is_same_or_above(tx, session.id, adopter):
            raise errors.Conflict(
                f"{adopter.name} cannot adopt {session.name}: a session adopts neither itself nor a session above it."
            )
        _set_coordinator(tx, caller, session, adopter)
        return [session]
    tx.sessions.set_successor(session.id, successor_id=adopter.id)
    tx.recoveries.clear_next_step(session.id)
    effects.answers_not_needed(tx, session.id, caller.name)  # the ask about its workers is settled
    workers = tx.sessions.list_children(session.id, limit=limits.sessions_in_tree_max)
    for worker in workers:
        _set_coordinator(tx, caller, worker, adopter)
    if workers and caller.session_id != adopter.id:
        notices.notify_session(
            tx,
            adopter,
            subject=f"You are the coordinator of {session.name}'s workers now",
            text=f"{session.name} ({session.id}) {notices.status_phrase(session.status)}. "
            "You have its workers now, and get its mail. The workers are: "
            + ", ".join(f"{worker.name} ({worker.id})" for worker in workers[: limits.page_items_default]),
            priority=Priority.HIGH,
        )
    return workers


def _set_coordinator(tx: Tx, caller: Caller, worker: Session, adopter: Session) -> None:
    tx.sessions.set_parent(worker.id, parent_id=adopter.id, at=tx.at)
    data = {"by": adopter.id, "was": worker.parent_id}
    tx.log(NewEvent(EventKind.SESSION_ADOPTED, worker.id, worker.project_id, data), actor=caller.name)
    notices.notify_session(
        tx,
        worker,
        subject=f"{adopter.name} is your coordinator now",
        text=f"Write to `coordinator`, or to {adopter.name} ({adopter.id}).",
    )


def _require_may_adopt(tx: Tx, caller: Caller, session: Session) -> None:
    """Refuse callers that may not adopt a session.

    The person and the sessions above may; any coordinator of the project may once the session's own has ended.
    """
    if caller.role is Role.PERSON or session_relations.is_same_or_above(tx, caller.session_id, session):
        return
    above = session if session.ended_at is not None else None
    if above is None and session.parent_id is not None:
        above = tx.sessions.get(session.parent_id)
    if above is not None and above.ended_at is not None and above.project_id == caller.project_id:
        return
    if above is not None:
        reason, owner = f"has a live coordinator, {above.name}", f"{above.name} or the person"
    else:
        reason, owner = "is live and has no coordinator", "the person"
    raise errors.NotPermitted(f"{session.name} {reason}.", hint=f"Ask {owner} to hand the session over.")
