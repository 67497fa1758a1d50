"""Queue notifications in the transaction of the reported change: the person is notified of each change once."""

from __future__ import annotations

from datetime import timedelta

from maestro.core import ids, limits
from maestro.domain.asks import Ask, AskStatus
from maestro.domain.notifications import NotificationKind, earliest_time
from maestro.domain.sessions import Session
from maestro.store.base import Tx

_HOLD = timedelta(seconds=limits.notification_hold_seconds)
_GAP = timedelta(seconds=limits.notification_gap_seconds)


def queue_opened_ask(tx: Tx, ask: Ask) -> None:
    """Queue the notification of a new ask. A person who answers within seconds needs no notification."""
    tx.notifications.insert(
        ids.new_id("ntf", tx.at),
        NotificationKind.ASK_OPENED,
        project_id=ask.project_id,
        session_id=ask.session_id,
        ask_id=ask.id,
        content=ask.title,
        created_at=tx.at,
        due_at=tx.at + _HOLD,
    )


def queue_closed_ask(tx: Tx, ask: Ask, status: AskStatus) -> None:
    """Queue the notification of a closed ask, or drop the notification of the ask if it has not gone out yet."""
    opened = tx.notifications.of_ask(ask.id)
    if opened is None:
        return
    if opened.attempts == 0:
        tx.notifications.delete(opened.id)
        return
    is_answered = status is AskStatus.ANSWERED
    tx.notifications.insert(
        ids.new_id("ntf", tx.at),
        NotificationKind.ASK_ANSWERED if is_answered else NotificationKind.ASK_WITHDRAWN,
        project_id=ask.project_id,
        session_id=ask.session_id,
        ask_id=ask.id,
        content=ask.title,
        created_at=tx.at,
        due_at=tx.at,
    )


def queue_session_notification(tx: Tx, session: Session, kind: NotificationKind, content: str) -> None:
    """Queue the notification about a session that is lost, has failed or is blocked."""
    due_at = earliest_time(tx.at, tx.notifications.last_of_session(session.id), hold=_HOLD, gap=_GAP)
    tx.notifications.insert(
        ids.new_id("ntf", tx.at),
        kind,
        project_id=session.project_id,
        session_id=session.id,
        ask_id=None,
        content=content,
        created_at=tx.at,
        due_at=due_at,
    )
