"""Derive a session's status from its hook events, and decide when the status is worth a write."""

from __future__ import annotations

from maestro.core import limits
from maestro.domain.callers import Caller
from maestro.domain.sessions import FINAL, Source, Status
from maestro.services.hooks.looking import Seen
from maestro.services.sessions import kin, status
from maestro.services.sessions import records as sessions
from maestro.store.base import Tx
from maestro.tools.hooks.base import Beginning, Happening, Kind, Moment, Reply

_STATUS_AFTER = {
    Moment.PROMPT: Status.WORKING,
    Moment.BEFORE_TOOL: Status.WORKING,
    Moment.AFTER_TOOL: Status.WORKING,
    Moment.ASKS: Status.NEEDS_INPUT,
    Moment.FAILS: Status.IDLE,
}


def worth_saying(happening: Happening, seen: Seen, reply: Reply) -> Status | None:
    """Return the status to write; None if the store holds the status already, or if the protocol reports it."""
    is_final = seen.session.status in FINAL and happening.moment is not Moment.PROMPT
    if seen.is_driven or (seen.talk is not None and is_final):
        return None  # the status that the session reported itself stands until the next prompt
    status_now = _status_after(happening, seen, reply)
    session = seen.session
    is_same = session.status is status_now and session.status_source is Source.HOOK
    if not is_same or happening.moment is Moment.ASKS:
        return status_now
    if session.status_until is None:
        return None
    left = (session.status_until - seen.at).total_seconds()
    return status_now if left < limits.status_seconds - limits.hook_status_seconds else None


def _status_after(event: Happening, snapshot: Seen, reply: Reply) -> Status | None:
    match event.moment:
        case Moment.STOP:
            return Status.WORKING if reply.kind is Kind.GO_ON else Status.IDLE
        case Moment.WAITS:
            return Status.NEEDS_INPUT if event.needs_person else Status.IDLE
        case Moment.STARTS if event.beginning is not Beginning.COMPACTED and snapshot.talk is None:
            return Status.IDLE
    return _STATUS_AFTER.get(event.moment)


def say(tx: Tx, caller: Caller, said: Status, detail: str) -> None:
    status.say(tx, kin.own(tx, caller), said, source=Source.HOOK, detail=detail, actor=caller.name)


def end(tx: Tx, caller: Caller) -> None:
    """End the session of a program that was started by hand and reports its own end."""
    session = kin.own(tx, caller)
    if session.ended_at is None:
        sessions.finish(tx, session, Status.STOPPED, source=Source.HOOK, actor=caller, detail="its program ended")
