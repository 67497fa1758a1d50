"""Looking at sessions: who is there, what each is doing, and why we think so."""

from __future__ import annotations

import asyncio

import msgspec

from maestro.core import errors, limits
from maestro.domain.callers import Caller
from maestro.domain.sessions import Contact, Session, Signal, Status, contact, is_lost
from maestro.domain.sight import may_read
from maestro.operations import sessions as ops
from maestro.services.scope import project_of
from maestro.services.sessions import kin
from maestro.services.sessions.presence import Presence
from maestro.services.sessions.records import is_running, lease_seconds
from maestro.services.tasks.records import links
from maestro.store.base import Store, Tx


def list_page(tx: Tx, caller: Caller, request: ops.ListSessions) -> ops.SessionList:
    """A page of sessions, in the order in which they came; it goes on also where some of it do not fit."""
    found = _listed(tx, caller, request, limit=request.limit + 1)
    page = found[: request.limit]
    cursor = page[-1].id if len(found) > request.limit else None
    return ops.SessionList(sessions=[one for one in page if _fits(one, caller, request)], cursor=cursor)


def show(tx: Tx, caller: Caller, request: ops.OneSession) -> ops.SessionDetail:
    """One session with those around it; what it asks is for its own project."""
    session = kin.named(tx, caller, request.id, project=request.project)
    parent = tx.sessions.get(session.parent_id) if session.parent_id else None
    talk = tx.talks.get(session.id)
    siblings = _children(tx, session.parent_id) if session.parent_id else []
    is_readable = may_read(caller, session.project_id)
    return ops.SessionDetail(
        **msgspec.structs.asdict(session),
        coordinator=_contact(tx, parent) if parent else None,
        siblings=[_contact(tx, other) for other in siblings if other.id != session.id],
        workers=[_contact(tx, worker) for worker in _children(tx, session.id)],
        held=[task.ref for task in tx.tasks.of_holder(session.id, limit=limits.page_items_default)],
        unread=tx.deliveries.count_open(session.id, reader=session.id),
        asks=tx.asks.open_of_session(session.id, limit=limits.page_items_default) if is_readable else [],
        work=links([task for task_id in session.tasks if (task := tx.tasks.get(task_id))]),
        usage=tx.talks.usage_of_session(session.id, limit=limits.page_items_default) if is_readable else [],
        parked_until=talk.parked_until if talk else None,
    )


class Explaining:
    """Shows the evidence: what the store has, what memory has, and what the system says of the process."""

    def __init__(self, store: Store, presence: Presence) -> None:
        self._store = store
        self._presence = presence

    async def explain(self, caller: Caller, request: ops.OneSession) -> ops.Explanation:
        def look(tx: Tx) -> tuple[Session, list[Signal], bool]:
            session = kin.named(tx, caller, request.id, project=request.project)
            return session, _signals(tx, caller, session), session.lease_until <= tx.at

        session, signals, is_over = await self._store.read(look, quick=True)
        lives = await asyncio.to_thread(is_running, session) if session.pid is not None else None
        heard = self._presence.was_heard(session.id, seconds=lease_seconds(session.pid))
        return ops.Explanation(
            session=session,
            signals=signals,
            lease_is_over=is_over,
            was_heard=heard,
            process_lives=lives,
            verdict=_verdict(session, lease_is_over=is_over, was_heard=heard, process_lives=bool(lives)),
        )


def _signals(tx: Tx, caller: Caller, session: Session) -> list[Signal]:
    """What speaks for its status; the words beside it, of asks and reports, are for its own project."""
    found = tx.sessions.signals(session.id)
    if may_read(caller, session.project_id):
        return found
    return [msgspec.structs.replace(one, detail="") for one in found]


def _verdict(session: Session, *, lease_is_over: bool, was_heard: bool, process_lives: bool) -> str:
    if session.ended_at is not None:
        return f"It ended as {session.status}."
    if is_lost(lease_is_over=lease_is_over, was_heard=was_heard, process_lives=process_lives):
        return "Nothing speaks for it any more: it will be called lost."
    speaks = [
        word
        for word, holds in (
            ("its lease runs", not lease_is_over),
            ("it was heard of", was_heard),
            ("its process lives", process_lives),
        )
        if holds
    ]
    return f"It is alive, for {' and '.join(speaks)}."


def _listed(tx: Tx, caller: Caller, request: ops.ListSessions, *, limit: int) -> list[Session]:
    ever = not request.active
    if request.siblings or request.my_workers:
        own = kin.own(tx, caller)
        parent_id = own.parent_id if request.siblings else own.id
        return tx.sessions.children(parent_id, after=request.cursor, limit=limit, ever=ever) if parent_id else []
    project = project_of(tx, caller, request.project)
    status = _wanted(request)
    return tx.sessions.page(project.id, after=request.cursor, limit=limit, active=request.active, status=status)


def _wanted(request: ops.ListSessions) -> Status | None:
    if request.status is None or request.status is ops.StatusFilter.ANY:
        return None
    return Status(request.status.value)


def _fits(session: Session, caller: Caller, request: ops.ListSessions) -> bool:
    wanted = _wanted(request)
    is_own = request.siblings and session.id == caller.session_id
    return not is_own and (wanted is None or session.status is wanted)


def _children(tx: Tx, parent_id: str) -> list[Session]:
    return tx.sessions.children(parent_id, limit=limits.page_items_default)


def _contact(tx: Tx, session: Session) -> Contact:
    return contact(session, at=tx.at, seconds=limits.session_lease_seconds)


def require_live(session: Session) -> None:
    if session.ended_at is not None:
        raise errors.Conflict(f"{session.name} has ended ({session.status}).", data={"id": session.id})
