"""How a session stands after one of its hooks, and when that is worth writing down."""

from __future__ import annotations

from maestro.core import limits
from maestro.domain.callers import Caller
from maestro.domain.sessions import FINAL, Source, Status
from maestro.services.hooks.looking import Seen
from maestro.services.sessions import kin, status
from maestro.services.sessions import records as sessions
from maestro.store.base import Tx
from maestro.tools.hooks.base import Beginning, Happening, Kind, Moment, Reply

_AFTER = {
    Moment.PROMPT: Status.WORKING,
    Moment.BEFORE_TOOL: Status.WORKING,
    Moment.AFTER_TOOL: Status.WORKING,
    Moment.ASKS: Status.NEEDS_INPUT,
    Moment.FAILS: Status.IDLE,
}


def worth_saying(happening: Happening, seen: Seen, reply: Reply) -> Status | None:
    """The word to write down; none if that stands there already, or if its protocol tells."""
    stays = seen.session.status in FINAL and happening.moment is not Moment.PROMPT
    if seen.is_driven or (seen.talk is not None and stays):
        return None  # what it reported itself stands, until it is told something new
    said = _after(happening, seen, reply)
    session = seen.session
    stands = session.status is said and session.status_source is Source.HOOK and happening.moment is not Moment.ASKS
    if not stands:
        return said
    if session.status_until is None:
        return None
    left = (session.status_until - seen.at).total_seconds()
    return said if left < limits.status_seconds - limits.hook_status_seconds else None


def _after(happening: Happening, seen: Seen, reply: Reply) -> Status | None:
    match happening.moment:
        case Moment.STOP:
            return Status.WORKING if reply.kind is Kind.GO_ON else Status.IDLE
        case Moment.WAITS:
            return Status.NEEDS_INPUT if happening.needs_person else Status.IDLE
        case Moment.STARTS if happening.beginning is not Beginning.COMPACTED and seen.talk is None:
            return Status.IDLE
    return _AFTER.get(happening.moment)


def say(tx: Tx, caller: Caller, said: Status, detail: str) -> None:
    status.say(tx, kin.own(tx, caller), said, source=Source.HOOK, detail=detail, actor=caller.name)


def end(tx: Tx, caller: Caller) -> None:
    """The program of an agent that was started by hand says goodbye."""
    session = kin.own(tx, caller)
    if session.ended_at is None:
        sessions.finish(tx, session, Status.STOPPED, source=Source.HOOK, actor=caller, detail="its program ended")
