"""A session's status, judged from the last signal of each source."""

from __future__ import annotations

from datetime import timedelta

from msgspec.structs import replace

from maestro.core import limits
from maestro.domain.callers import SERVER_NAME
from maestro.domain.events import EventKind, NewEvent
from maestro.domain.sessions import Session, SessionStatus, StatusSignal, StatusSource, decide_status
from maestro.services.sessions import notices
from maestro.store.base import Tx
from maestro.text import redaction

# A session's own report lasts until the next report, and a protocol's signal until the next turn. Observations of
# other sources expire.
_LASTING_SOURCES = frozenset({StatusSource.REPORT, StatusSource.SERVER, StatusSource.PROTOCOL})


def apply_signal(
    tx: Tx,
    session: Session,
    status: SessionStatus,
    *,
    source: StatusSource,
    detail: str = "",
    actor: str,
    is_silent: bool = False,
) -> Session:
    """Store one source's signal. If the status changes, log the change and post a notice unless `is_silent`."""
    until = None if _is_lasting(source, status) else tx.at + timedelta(seconds=limits.status_valid_seconds)
    # NUL characters in a stored text count as damage, and a program may send some.
    detail = redaction.hide_tokens(detail).replace("\0", " ")
    signal = StatusSignal(source, status, tx.at, until, detail)
    tx.sessions.put_signal(session.id, signal)
    other_signals = [known for known in tx.sessions.signals_of(session.id) if known.source is not source]
    # The new signal comes last: of two signals with the same time the last counts as newer.
    judged = decide_status([*other_signals, signal], tx.at)
    _store_status(tx, session, judged, actor=actor)
    if judged.status is not session.status and not is_silent:
        notices.notify_status_change(tx, session, judged.status, detail)
    return tx.sessions.get(session.id) or session


def _is_lasting(source: StatusSource, status: SessionStatus) -> bool:
    """Return whether a signal never expires. Hooks report changes: idle and needs_input last until the next hook."""
    return source in _LASTING_SOURCES or (source is StatusSource.HOOK and status is not SessionStatus.WORKING)


def expire_status(tx: Tx, session: Session) -> None:
    """Judge a status anew after its signal has expired: an older lasting signal counts again.

    Without a lasting signal the newest one counts on, without an expiry.
    """
    judged = decide_status(tx.sessions.signals_of(session.id), tx.at)
    is_current = judged.until is None or judged.until > tx.at
    _store_status(tx, session, judged if is_current else replace(judged, until=None), actor=SERVER_NAME)


def _store_status(tx: Tx, session: Session, judged: StatusSignal, *, actor: str) -> None:
    tx.sessions.set_status(session.id, judged, at=tx.at)
    if judged.status is not session.status:
        data = {"from": session.status.value, "status": judged.status.value, "source": judged.source.value}
        tx.log(NewEvent(EventKind.SESSION_STATUS_CHANGED, session.id, session.project_id, data), actor=actor)
