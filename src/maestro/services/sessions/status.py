"""A session's status, judged from the last signal of each source."""

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

# A session's own report lasts until the next report, and a protocol's signal until the next turn. Observations of
# other sources expire.
_LASTING_SOURCES = frozenset({Source.REPORT, Source.SERVER, Source.PROTOCOL})


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
    """Store one source's signal. If the status changes, log the change and post a notice unless `is_silent`."""
    until = None if _is_lasting(source, status) else tx.at + timedelta(seconds=limits.status_seconds)
    # NUL characters in a stored text count as damage, and a program may send some.
    detail = redaction.hide(detail).replace("\0", " ")
    signal = Signal(source, status, tx.at, until, detail)
    tx.sessions.put_signal(session.id, signal)
    other_signals = [known for known in tx.sessions.signals(session.id) if known.source is not source]
    # The new signal comes last: of two signals with the same time the last counts as newer.
    judged = judge([*other_signals, signal], tx.at)
    _store_status(tx, session, judged, actor=actor)
    if judged.status is not session.status and not quietly:
        notices.status_changed(tx, session, judged.status, detail)
    return tx.sessions.get(session.id) or session


def _is_lasting(source: Source, status: Status) -> bool:
    """Return whether a signal never expires. Hooks report changes: idle and needs_input last until the next hook."""
    return source in _LASTING_SOURCES or (source is Source.HOOK and status is not Status.WORKING)


def outlived(tx: Tx, session: Session) -> None:
    """Judge a status anew after its signal has expired: an older lasting signal counts again.

    Without a lasting signal the newest one counts on, without an expiry.
    """
    judged = judge(tx.sessions.signals(session.id), tx.at)
    is_current = judged.until is None or judged.until > tx.at
    _store_status(tx, session, judged if is_current else replace(judged, until=None), actor=SERVER)


def _store_status(tx: Tx, session: Session, judged: Signal, *, actor: str) -> None:
    tx.sessions.set_status(session.id, judged, at=tx.at)
    if judged.status is not session.status:
        data = {"from": session.status.value, "status": judged.status.value, "source": judged.source.value}
        tx.log(Change(Kind.SESSION_STATUS_CHANGED, session.id, session.project_id, data), actor=actor)
