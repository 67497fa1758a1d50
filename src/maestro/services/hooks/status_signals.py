"""Derive a session's status from its hook events, and decide when the status is worth a write."""

from __future__ import annotations

from maestro.core import limits
from maestro.domain.callers import Caller
from maestro.domain.sessions import ENDED_STATUSES, SessionStatus, StatusSource
from maestro.services.access import session_relations
from maestro.services.hooks.snapshot import HookSnapshot
from maestro.services.sessions import lifecycle as sessions
from maestro.services.sessions import status
from maestro.store.base import Tx
from maestro.tools.hook_dialect import HookEvent, HookMoment, HookReply, ReplyKind, StartReason

_STATUS_AFTER = {
    HookMoment.PROMPT: SessionStatus.WORKING,
    HookMoment.BEFORE_TOOL: SessionStatus.WORKING,
    HookMoment.AFTER_TOOL: SessionStatus.WORKING,
    HookMoment.ASKS: SessionStatus.NEEDS_INPUT,
    HookMoment.FAILS: SessionStatus.IDLE,
}


def status_to_write(event: HookEvent, snapshot: HookSnapshot, reply: HookReply) -> SessionStatus | None:
    """Return the status to write; None if the store holds the status already, or if the protocol reports it."""
    is_final = snapshot.session.status in ENDED_STATUSES and event.moment is not HookMoment.PROMPT
    if snapshot.is_driven or (snapshot.conversation is not None and is_final):
        return None  # the status that the session reported itself stands until the next prompt
    status_now = _status_after(event, snapshot, reply)
    session = snapshot.session
    is_same = session.status is status_now and session.status_source is StatusSource.HOOK
    if not is_same or event.moment is HookMoment.ASKS:
        return status_now
    if session.status_until is None:
        return None
    left = (session.status_until - snapshot.at).total_seconds()
    return status_now if left < limits.status_valid_seconds - limits.hook_status_seconds else None


def _status_after(event: HookEvent, snapshot: HookSnapshot, reply: HookReply) -> SessionStatus | None:
    match event.moment:
        case HookMoment.STOP:
            return SessionStatus.WORKING if reply.kind is ReplyKind.GO_ON else SessionStatus.IDLE
        case HookMoment.WAITS:
            return SessionStatus.NEEDS_INPUT if event.needs_person else SessionStatus.IDLE
        case HookMoment.STARTS if event.start_reason is not StartReason.COMPACTED and snapshot.conversation is None:
            return SessionStatus.IDLE
    return _STATUS_AFTER.get(event.moment)


def write_status(tx: Tx, caller: Caller, new_status: SessionStatus, detail: str) -> None:
    status.apply_signal(
        tx,
        session_relations.own_session(tx, caller),
        new_status,
        source=StatusSource.HOOK,
        detail=detail,
        actor=caller.name,
    )


def end_session(tx: Tx, caller: Caller) -> None:
    """End the session of a program that was started by hand and reports its own end."""
    session = session_relations.own_session(tx, caller)
    if session.ended_at is None:
        sessions.finish_session(
            tx, session, SessionStatus.STOPPED, source=StatusSource.HOOK, actor=caller, detail="its program ended"
        )
