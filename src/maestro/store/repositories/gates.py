"""The repository of gate results, with their evidence."""

from __future__ import annotations

from maestro.core.clock import from_micros, to_micros
from maestro.domain.documents import StoredContent
from maestro.domain.gates import GateResult
from maestro.domain.sandboxes import SandboxMode
from maestro.store.rows import Rows


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
        rows = self._rows.fetch_all("gates_of_task", task_id=task_id, limit=limit)
        return [
            GateResult(
                id=row[0],
                task_id=row[1],
                session_id=row[2],
                command=row[3],
                passed=bool(row[4]),
                exit_code=row[5],
                seconds=row[6],
                created_at=from_micros(row[7]),
                sandbox=SandboxMode(row[8]),
            )
            for row in rows
        ]

    def get_output(self, result_id: str) -> tuple[str, StoredContent] | None:
        """Return the task id and the output of a gate result."""
        row = self._rows.fetch_first("gate_output", id=result_id)
        return (row[0], StoredContent(row[1], row[2], 0, "")) if row else None
