"""The repository of gate results, with their evidence."""

from __future__ import annotations

from typing import NamedTuple

from maestro.core.clock import to_micros
from maestro.domain.documents import StoredContent
from maestro.domain.gates import GateResult
from maestro.store.decoding import Decoder
from maestro.store.rows import Rows


class _GateOutput(NamedTuple):
    task_id: str
    output: bytes | None
    blob: str | None


_RESULT = Decoder(GateResult)
_OUTPUT = Decoder(_GateOutput)


class GateResultRepository:
    """Gate results by task, and the output of each result."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def insert(self, result: GateResult, output: StoredContent) -> None:
        self._rows.execute(
            "gate_insert",
            id=result.id,
            task_id=result.task_id,
            session_id=result.session_id,
            command=result.command,
            passed=result.passed,
            exit_code=result.exit_code,
            seconds=result.seconds,
            output=output.body,
            blob=output.blob,
            created_at=to_micros(result.created_at),
            sandbox=result.sandbox.value,
        )

    def of_task(self, task_id: str, *, limit: int) -> list[GateResult]:
        """Return the gate results of a task, newest first."""
        return self._rows.fetch_all("gates_of_task", _RESULT, task_id=task_id, limit=limit)

    def get_output(self, result_id: str) -> tuple[str, StoredContent] | None:
        """Return the task id and the output of a gate result."""
        found = self._rows.fetch_first("gate_output", _OUTPUT, id=result_id)
        return (found.task_id, StoredContent(found.output, found.blob, 0, "")) if found else None
