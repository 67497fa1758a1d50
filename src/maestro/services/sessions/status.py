"""What a session is doing, from all who say something about it."""

from __future__ import annotations

from datetime import timedelta

from msgspec.structs import replace

from maestro.core import limits
from maestro.domain.callers import SERVER
from maestro.domain.events import Change, Kind
from maestro.domain.sessions import Session, Signal, Source, Status, judge
from maestro.services.sessions import notices
from maestro.store.base import Tx
from maestro.text import redaction

# A word of one's own stands until it is taken back, and so does what its program tells of each turn; what others
# observe grows old.
_STANDS = frozenset({Source.REPORT, Source.SERVER, Source.PROTOCOL})


def say(
    tx: Tx,
    session: Session,
    status: Status,
    *,
    source: Source,
    detail: str = "",
    actor: str,
    quietly: bool = False,
) -> Session:
    """Take in what one source says; log it if the status changes by it, and tell it unless that was done already."""
    until = None if _stands(source, status) else tx.at + timedelta(seconds=limits.status_seconds)
    # In a stored text, NUL characters are a sign of damage; a program may send some.
    detail = redaction.hide(detail).replace("\0", " ")
    said = Signal(source, status, tx.at, until, detail)
    tx.sessions.put_signal(session.id, said)
    others = [signal for signal in tx.sessions.signals(session.id) if signal.source is not source]
    now = judge([*others, said], tx.at)  # last: of two words of one moment, this one is the newer
    _set(tx, session, now, actor=actor)
    if now.status is not session.status and not quietly:
        notices.status_changed(tx, session, now.status, detail)
    return tx.sessions.get(session.id) or session


def _stands(source: Source, status: Status) -> bool:
    """Hooks tell of changes: an agent that fell silent, or asks, does so until one tells otherwise."""
    return source in _STANDS or (source is Source.HOOK and status is not Status.WORKING)


def outlived(tx: Tx, session: Session) -> None:
    """The word that a status rests on is too old: an older one that stands counts again. If there is none, the last
    there was counts on."""
    now = judge(tx.sessions.signals(session.id), tx.at)
    _set(tx, session, now if now.until is None or now.until > tx.at else replace(now, until=None), actor=SERVER)


def _set(tx: Tx, session: Session, now: Signal, *, actor: str) -> None:
    tx.sessions.set_status(session.id, now, at=tx.at)
    if now.status is not session.status:
        data = {"from": session.status.value, "status": now.status.value, "source": now.source.value}
        tx.log(Change(Kind.SESSION_STATUS_CHANGED, session.id, session.project_id, data), actor=actor)
