"""The durable log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

import msgspec

from maestro.core.clock import from_micros, to_micros
from maestro.domain.events import Event
from maestro.store.rows import Row, Rows

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(dict).decode


class Events:
    """Appends lines and reads them back."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def append(self, events: Sequence[Event]) -> None:
        """Write lines that have their places already."""
        lines = [
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
        self._rows.many("event_append", lines)

    def after(self, seq: int, *, limit: int, project: str | None = None, subject: str | None = None) -> list[Event]:
        """The lines after a place, of all, of one project or of one subject."""
        if subject is not None:
            rows = self._rows.page("events_after_of_subject", after=seq, subject=subject, limit=limit)
        elif project is not None:
            rows = self._rows.page("events_after_in_project", after=seq, project=project, limit=limit)
        else:
            rows = self._rows.page("events_after", after=seq, limit=limit)
        return [_event(row) for row in rows]

    def about(self, subjects: Iterable[str], *, after: int, limit: int) -> list[Event]:
        """The lines after a place about any of these."""
        named = _encode(list(dict.fromkeys(subjects))).decode()
        return [_event(row) for row in self._rows.page("events_about", subjects=named, after=after, limit=limit)]

    def newest(self, subject: str, *, kinds: Sequence[str]) -> Event | None:
        """The last line of some kinds about one subject."""
        row = self._rows.one("events_newest_of_subject", subject=subject, kinds=_encode(kinds).decode())
        return _event(row) if row else None

    def last(self) -> int:
        """The log's end."""
        row = self._rows.one("events_last")
        return int(row[0]) if row else 0

    def horizon(self) -> int:
        """A cursor before this has lost lines to retention."""
        row = self._rows.one("events_first")
        return int(row[0]) - 1 if row and row[0] is not None else 0

    def prune(self, *, before: datetime, limit: int) -> int:
        """Let go of lines from before a time, a bounded number."""
        return self._rows.run("events_prune", before=to_micros(before), limit=limit)


def _event(row: Row) -> Event:
    seq, at, project, kind, version, actor, subject, data = row
    return Event(seq, from_micros(at), project, kind, version, actor, subject, _decode(data))
