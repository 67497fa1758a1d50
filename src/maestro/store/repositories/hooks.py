"""The repository of hooks: answers that are not yet confirmed, and the last firing of each hook."""

from __future__ import annotations

from datetime import datetime

from maestro.core import limits
from maestro.core.clock import to_micros
from maestro.domain.hooks import HookFiring
from maestro.store.decoding import Decoder
from maestro.store.rows import Rows

_FIRING = Decoder(HookFiring)


class HookRepository:
    """Unconfirmed hook answers by session, and hook firings by tool and event."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def put_answer(self, session_id: str, receipt: str, *, at: datetime) -> None:
        self._rows.execute("hook_answer_put", session_id=session_id, receipt=receipt, at=to_micros(at))

    def answers_of(self, session_id: str) -> list[str]:
        values = {"session_id": session_id, "limit": limits.hook_answers_max}
        return self._rows.fetch_values("hook_answers_of", **values)

    def drop_answer(self, session_id: str, receipt: str) -> None:
        self._rows.execute("hook_answer_drop", session_id=session_id, receipt=receipt)

    def clear_answers(self, session_id: str) -> None:
        self._rows.execute("hook_answers_clear", session_id=session_id)

    def record_firing(self, tool: str, event: str, *, at: datetime) -> None:
        self._rows.execute("hook_fired", tool=tool, event=event, at=to_micros(at))

    def record_failure(self, tool: str, event: str, problem: str, *, at: datetime) -> None:
        self._rows.execute("hook_failed", tool=tool, event=event, problem=problem, at=to_micros(at))

    def list_firings(self) -> list[HookFiring]:
        return self._rows.fetch_all("hook_firings_all", _FIRING, limit=limits.page_items_max)
