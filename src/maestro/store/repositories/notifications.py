"""The repository of notifications for the person."""

from __future__ import annotations

from datetime import datetime

from maestro.core.clock import from_micros_or_none, to_micros, to_micros_or_none
from maestro.domain.notifications import Notification, NotificationKind
from maestro.store.decoding import Decoder
from maestro.store.rows import Rows

_NOTIFICATION = Decoder(Notification)


class NotificationRepository:
    """Notifications by id, ask and due time."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def insert(
        self,
        notification_id: str,
        kind: NotificationKind,
        *,
        project_id: str | None,
        session_id: str | None,
        ask_id: str | None,
        content: str,
        created_at: datetime,
        due_at: datetime,
    ) -> None:
        self._rows.execute(
            "notification_insert",
            id=notification_id,
            kind=kind.value,
            project_id=project_id,
            session_id=session_id,
            ask_id=ask_id,
            content=content,
            created_at=to_micros(created_at),
            due_at=to_micros(due_at),
        )

    def list_due(self, at: datetime, *, limit: int) -> list[Notification]:
        return self._rows.fetch_all("notifications_due", _NOTIFICATION, at=to_micros(at), limit=limit)

    def next_due(self) -> datetime | None:
        return from_micros_or_none(self._rows.fetch_value("notification_next_due"))

    def of_ask(self, ask_id: str) -> Notification | None:
        """Return the notification that announced an ask."""
        return self._rows.fetch_first("notification_of_ask", _NOTIFICATION, ask_id=ask_id)

    def last_of_session(self, session_id: str) -> datetime | None:
        """Return when the last notification about a session, not about its asks, is or was due."""
        return from_micros_or_none(self._rows.fetch_value("notification_last_of_session", session_id=session_id))

    def set_state(self, notification_id: str, *, due_at: datetime | None, attempts: int, problem: str) -> None:
        """Record an attempt: when the next attempt is due, and why the last one failed."""
        values = {"id": notification_id, "attempts": attempts, "problem": problem}
        self._rows.execute("notification_set_state", due_at=to_micros_or_none(due_at), **values)

    def delete(self, notification_id: str) -> None:
        self._rows.execute("notification_delete", id=notification_id)

    def list_newest(self, *, limit: int) -> list[Notification]:
        return self._rows.fetch_all("notifications_newest", _NOTIFICATION, limit=limit)

    def list_failed(self, *, since: datetime, limit: int) -> list[Notification]:
        """Return the newest notifications whose last attempt failed."""
        return self._rows.fetch_all("notifications_failed", _NOTIFICATION, since=to_micros(since), limit=limit)

    def delete_old(self, *, before: datetime) -> None:
        """Delete finished notifications. The announcement of an open ask stays."""
        self._rows.execute("notifications_delete_old", before=to_micros(before))
