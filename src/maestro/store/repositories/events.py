"""The repository of events: the durable log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

import msgspec

from maestro.core.clock import to_micros
from maestro.domain.events import Event
from maestro.store.decoding import Decoder
from maestro.store.rows import Rows

_encode = msgspec.json.Encoder().encode
_EVENT = Decoder(Event)


class EventRepository:
    """Events by sequence number, project and subject."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def append(self, events: Sequence[Event]) -> None:
        """Append events. The writer has set their sequence numbers."""
        values = [
            {
                "seq": event.seq,
                "at": to_micros(event.at),
                "project": event.project,
                "kind": event.kind,
                "version": event.version,
                "actor": event.actor,
                "subject": event.subject,
                "data": _encode(event.data).decode(),
            }
            for event in events
        ]
        self._rows.execute_many("event_append", values)

    def list_after(
        self, seq: int, *, limit: int, project: str | None = None, subject: str | None = None
    ) -> list[Event]:
        """Return the events after a sequence number: all events, or those of a project or of a subject."""
        if subject is not None:
            return self._rows.fetch_page("events_after_of_subject", _EVENT, after=seq, subject=subject, limit=limit)
        if project is not None:
            return self._rows.fetch_page("events_after_in_project", _EVENT, after=seq, project=project, limit=limit)
        return self._rows.fetch_page("events_after", _EVENT, after=seq, limit=limit)

    def list_about(self, subjects: Iterable[str], *, after: int, limit: int) -> list[Event]:
        """Return the events after a sequence number about any of the subjects."""
        encoded = _encode(list(dict.fromkeys(subjects))).decode()
        return self._rows.fetch_page("events_about", _EVENT, subjects=encoded, after=after, limit=limit)

    def newest_of_subject(self, subject: str, *, kinds: Sequence[str]) -> Event | None:
        """Return the last event of some kinds about a subject."""
        values = {"subject": subject, "kinds": _encode(kinds).decode()}
        return self._rows.fetch_first("events_newest_of_subject", _EVENT, **values)

    def last_seq(self) -> int:
        """Return the sequence number of the last event; 0 for an empty log."""
        return int(self._rows.fetch_value("events_last"))

    def retention_horizon(self) -> int:
        """Return the sequence number before the oldest kept event. A smaller cursor has lost events to retention."""
        oldest_seq = self._rows.fetch_value("events_first")
        return int(oldest_seq) - 1 if oldest_seq is not None else 0

    def prune_old(self, *, before: datetime, limit: int) -> int:
        """Delete at most `limit` events from before a time; return the number of deleted events."""
        return self._rows.execute("events_prune", before=to_micros(before), limit=limit)
