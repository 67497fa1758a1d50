"""The repository of hooks: answers that are not yet confirmed, and the last firing of each hook."""

from __future__ import annotations

from datetime import datetime

from maestro.core import limits
from maestro.core.clock import maybe_time, to_micros
from maestro.domain.hooks import Firing
from maestro.store.rows import Rows


class Hooks:
    """Unconfirmed hook answers by session, and hook firings by tool and event."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def put_answer(self, session_id: str, receipt: str, *, at: datetime) -> None:
        self._rows.run("hook_answer_put", session_id=session_id, receipt=receipt, at=to_micros(at))

    def answers_of(self, session_id: str) -> list[str]:
        rows = self._rows.all("hook_answers_of", session_id=session_id, limit=limits.hook_answers_max)
        return [row[0] for row in rows]

    def drop_answer(self, session_id: str, receipt: str) -> None:
        self._rows.run("hook_answer_drop", session_id=session_id, receipt=receipt)

    def clear_answers(self, session_id: str) -> None:
        self._rows.run("hook_answers_clear", session_id=session_id)

    def fired(self, tool: str, event: str, *, at: datetime) -> None:
        self._rows.run("hook_fired", tool=tool, event=event, at=to_micros(at))

    def failed(self, tool: str, event: str, problem: str, *, at: datetime) -> None:
        self._rows.run("hook_failed", tool=tool, event=event, problem=problem, at=to_micros(at))

    def firings(self) -> list[Firing]:
        rows = self._rows.all("hook_firings_all", limit=limits.page_items_max)
        return [Firing(row[0], row[1], maybe_time(row[2]), row[3], maybe_time(row[4])) for row in rows]
