"""The repository of recoveries: the next recovery step of each session that ended unexpectedly."""

from __future__ import annotations

from datetime import datetime

from maestro.core.clock import from_micros, maybe_micros, maybe_time, to_micros
from maestro.domain.recovery import Recovery, Step
from maestro.store.rows import Row, Rows


class Recoveries:
    """Recoveries by session and ask. A row stays after the recovery, to keep the number of attempts."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def put(self, one: Recovery) -> None:
        self._rows.run(
            "recovery_put",
            session_id=one.session_id,
            step=one.step.value,
            due_at=maybe_micros(one.due_at),
            tries=one.tries,
            resumed_at=maybe_micros(one.resumed_at),
            adopter_id=one.adopter_id,
            ask_id=one.ask_id,
        )

    def get(self, session_id: str) -> Recovery | None:
        row = self._rows.one("recovery_get", session_id=session_id)
        return _decode_recovery(row) if row else None

    def of_ask(self, ask_id: str) -> Recovery | None:
        row = self._rows.one("recovery_of_ask", ask_id=ask_id)
        return _decode_recovery(row) if row else None

    def due(self, at: datetime, *, limit: int) -> list[Recovery]:
        return [_decode_recovery(row) for row in self._rows.all("recoveries_due", at=to_micros(at), limit=limit)]

    def next_due(self) -> datetime | None:
        row = self._rows.one("recovery_next")
        return from_micros(row[0]) if row and row[0] is not None else None

    def clear(self, session_id: str) -> None:
        """Record that a session needs no further recovery step."""
        self._rows.run("recovery_clear", session_id=session_id)


def _decode_recovery(row: Row) -> Recovery:
    return Recovery(
        session_id=row[0],
        step=Step(row[1]),
        due_at=maybe_time(row[2]),
        tries=row[3],
        resumed_at=maybe_time(row[4]),
        adopter_id=row[5],
        ask_id=row[6],
    )
