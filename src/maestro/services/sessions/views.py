"""Show a session: its details, and the evidence for its status."""

from __future__ import annotations

import asyncio

import msgspec

from maestro.core import errors, limits
from maestro.domain.callers import Caller
from maestro.domain.sessions import Contact, Session, StatusSignal, contact_of, is_lost
from maestro.domain.visibility import may_read
from maestro.operations import sessions as ops
from maestro.services.access import session_relations
from maestro.services.presence.tracker import PresenceTracker
from maestro.services.sessions.lifecycle import is_process_running, lease_seconds
from maestro.services.task_links import task_links
from maestro.store.base import Store, Tx


def show_session(tx: Tx, caller: Caller, request: ops.OneSession) -> ops.SessionDetail:
    """Return a session with the related sessions. Only callers of the session's own project see asks and usage."""
    session = session_relations.find_session(tx, caller, request.id, project=request.project)
    parent = tx.sessions.get(session.parent_id) if session.parent_id else None
    conversation = tx.conversations.get(session.id)
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
        work=task_links([task for task_id in session.tasks if (task := tx.tasks.get(task_id))]),
        usage=tx.conversations.usage_of_session(session.id, limit=limits.page_items_default) if is_readable else [],
        parked_until=conversation.parked_until if conversation else None,
    )


class SessionExplainer:
    """Shows the evidence for a session's status: from the store, from memory, and from the operating system."""

    def __init__(self, store: Store, presence: PresenceTracker) -> None:
        self._store = store
        self._presence = presence

    async def explain_session(self, caller: Caller, request: ops.OneSession) -> ops.SessionExplanation:
        def read_evidence(tx: Tx) -> tuple[Session, list[StatusSignal], bool]:
            session = session_relations.find_session(tx, caller, request.id, project=request.project)
            return session, _signals(tx, caller, session), session.lease_until <= tx.at

        session, signals, lease_is_over = await self._store.read(read_evidence, quick=True)
        process_lives = await asyncio.to_thread(is_process_running, session) if session.pid is not None else None
        was_heard = self._presence.was_heard_within(session.id, seconds=lease_seconds(session.pid))
        return ops.SessionExplanation(
            session=session,
            signals=signals,
            is_lease_expired=lease_is_over,
            has_sign_of_life=was_heard,
            is_process_alive=process_lives,
            verdict=_verdict(
                session, lease_is_over=lease_is_over, was_heard=was_heard, process_lives=bool(process_lives)
            ),
        )


def _signals(tx: Tx, caller: Caller, session: Session) -> list[StatusSignal]:
    """Return the session's signals. Other projects do not get the details, which quote asks and reports."""
    signals = tx.sessions.signals_of(session.id)
    if may_read(caller, session.project_id):
        return signals
    return [msgspec.structs.replace(signal, detail="") for signal in signals]


def _verdict(session: Session, *, lease_is_over: bool, was_heard: bool, process_lives: bool) -> str:
    if session.ended_at is not None:
        return f"The session ended as {session.status}."
    if is_lost(is_lease_over=lease_is_over, has_sign_of_life=was_heard, is_process_alive=process_lives):
        return "The session shows no sign of life any more: it will be marked as lost."
    evidence = [
        reason
        for reason, is_true in (
            ("its lease runs", not lease_is_over),
            ("it gave a sign of life", was_heard),
            ("its process runs", process_lives),
        )
        if is_true
    ]
    return f"The session is alive: {' and '.join(evidence)}."


def _children(tx: Tx, parent_id: str) -> list[Session]:
    return tx.sessions.list_children(parent_id, limit=limits.page_items_default)


def _contact(tx: Tx, session: Session) -> Contact:
    return contact_of(session, at=tx.at, seconds=limits.presence_online_seconds_max)


def require_live_session(session: Session) -> None:
    if session.ended_at is not None:
        raise errors.Conflict(f"{session.name} has ended ({session.status}).", data={"id": session.id})
