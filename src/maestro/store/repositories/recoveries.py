"""The repository of recoveries: the next recovery step of each session that ended unexpectedly."""

from __future__ import annotations

from datetime import datetime

from maestro.core.clock import from_micros_or_none, to_micros, to_micros_or_none
from maestro.domain.recovery import SessionRecovery
from maestro.store.decoding import Decoder
from maestro.store.rows import Rows

_RECOVERY = Decoder(SessionRecovery)


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
            attempts=recovery.attempts,
            resumed_at=to_micros_or_none(recovery.resumed_at),
            adopter_id=recovery.adopter_id,
            ask_id=recovery.ask_id,
        )

    def get(self, session_id: str) -> SessionRecovery | None:
        return self._rows.fetch_first("recovery_get", _RECOVERY, session_id=session_id)

    def of_ask(self, ask_id: str) -> SessionRecovery | None:
        return self._rows.fetch_first("recovery_of_ask", _RECOVERY, ask_id=ask_id)

    def list_due(self, at: datetime, *, limit: int) -> list[SessionRecovery]:
        return self._rows.fetch_all("recoveries_due", _RECOVERY, at=to_micros(at), limit=limit)

    def next_due_at(self) -> datetime | None:
        return from_micros_or_none(self._rows.fetch_value("recovery_next"))

    def clear_next_step(self, session_id: str) -> None:
        """Record that a session needs no further recovery step."""
        self._rows.execute("recovery_clear", session_id=session_id)
