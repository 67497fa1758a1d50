"""The repository of recoveries: the next recovery step of each session that ended unexpectedly."""

from __future__ import annotations

from datetime import datetime

from maestro.core.clock import from_micros, from_micros_or_none, to_micros, to_micros_or_none
from maestro.domain.recovery import RecoveryStep, SessionRecovery
from maestro.store.rows import Row, Rows


class RecoveryRepository:
    """Recoveries by session and ask. A row stays after the recovery, to keep the number of attempts."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def put(self, recovery: SessionRecovery) -> None:
        self._rows.execute(
            "recovery_put",
            session_id=recovery.session_id,
            step=recovery.step.value,
            due_at=to_micros_or_none(recovery.due_at),
            tries=recovery.tries,
            resumed_at=to_micros_or_none(recovery.resumed_at),
            adopter_id=recovery.adopter_id,
            ask_id=recovery.ask_id,
        )

    def get(self, session_id: str) -> SessionRecovery | None:
        row = self._rows.fetch_first("recovery_get", session_id=session_id)
        return _decode_recovery(row) if row else None

    def of_ask(self, ask_id: str) -> SessionRecovery | None:
        row = self._rows.fetch_first("recovery_of_ask", ask_id=ask_id)
        return _decode_recovery(row) if row else None

    def list_due(self, at: datetime, *, limit: int) -> list[SessionRecovery]:
        return [
            _decode_recovery(row) for row in self._rows.fetch_all("recoveries_due", at=to_micros(at), limit=limit)
        ]

    def next_due_at(self) -> datetime | None:
        row = self._rows.fetch_first("recovery_next")
        return from_micros(row[0]) if row and row[0] is not None else None

    def clear_next_step(self, session_id: str) -> None:
        """Record that a session needs no further recovery step."""
        self._rows.execute("recovery_clear", session_id=session_id)


def _decode_recovery(row: Row) -> SessionRecovery:
    return SessionRecovery(
        session_id=row[0],
        step=RecoveryStep(row[1]),
        due_at=from_micros_or_none(row[2]),
        tries=row[3],
        resumed_at=from_micros_or_none(row[4]),
        adopter_id=row[5],
        ask_id=row[6],
    )
