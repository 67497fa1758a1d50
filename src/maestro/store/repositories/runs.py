"""The repository of runs and of their attempts at tasks."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime

import msgspec

from maestro.core.clock import from_micros, from_micros_or_none, to_micros, to_micros_or_none
from maestro.domain.conversations import AskPolicy
from maestro.domain.grants import Rights
from maestro.domain.runs import Attempt, AttemptOutcome, Run, RunStatus, RunStrategy
from maestro.store.rows import Row, Rows

_encode = msgspec.json.Encoder().encode
_decode_texts = msgspec.json.Decoder(list[str]).decode
_decode_rights = msgspec.json.Decoder(Rights).decode


class RunRepository:
    """Runs by id, project and task, and attempts by run, task and session."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def insert(self, run: Run) -> None:
        self._rows.execute(
            "run_insert",
            id=run.id,
            project_id=run.project_id,
            task_id=run.task_id,
            strategy=run.strategy.value,
            max_parallel=run.max_parallel,
            attempts_max=run.attempts_max,
            member=run.member,
            tool=run.tool,
            words=_encode(run.words).decode(),
            worktrees=run.worktrees,
            directory=run.directory,
            branch=run.branch,
            status=run.status.value,
            started_by=run.started_by,
            created_at=to_micros(run.created_at),
            allow=_encode(run.allow).decode(),
            asks=run.asks.value,
            rights=_encode(run.rights).decode() if run.rights else None,
        )

    def get(self, run_id: str) -> Run | None:
        return _decode_optional_run(self._rows.fetch_first("run_get", id=run_id))

    def of_task(self, task_id: str) -> Run | None:
        """Return the live run of a task."""
        return _decode_optional_run(self._rows.fetch_first("run_of_task", task_id=task_id))

    def last_of_task(self, task_id: str) -> Run | None:
        """Return the live run of a task, or else the last run of the task."""
        return _decode_optional_run(self._rows.fetch_first("run_last_of_task", task_id=task_id))

    def list_live(self, *, after: str = "", limit: int) -> list[Run]:
        return [_decode_run(row) for row in self._rows.fetch_all("runs_live", after=after, limit=limit)]

    def list_page(self, project_id: str, *, before: str, limit: int) -> list[Run]:
        rows = self._rows.fetch_all("runs_page", project_id=project_id, before=before, limit=limit)
        return [_decode_run(row) for row in rows]

    def change_status(self, run: Run, status: RunStatus, *, note: str, at: datetime | None) -> bool:
        """Change the status of a run; return False if the run no longer has the status of `run`."""
        values = {
            "status": status.value,
            "note": note,
            "ended_at": to_micros_or_none(at),
            "expected": run.status.value,
        }
        return self._rows.execute("run_move", id=run.id, **values) == 1

    def set_note(self, run_id: str, note: str) -> bool:
        """Set the note of a live run; return whether the note is new."""
        return self._rows.execute("run_note", id=run_id, note=note) == 1

    def resume(self, run: Run, *, at: datetime) -> bool:
        """Resume a run; return False if the run no longer has the status of `run`."""
        return self._rows.execute("run_resume", id=run.id, at=to_micros(at), expected=run.status.value) == 1

    def insert_attempt(self, attempt: Attempt) -> None:
        self._rows.execute(
            "attempt_insert",
            run_id=attempt.run_id,
            task_id=attempt.task_id,
            number=attempt.number,
            session_id=attempt.session_id,
            outcome=attempt.outcome.value if attempt.outcome else None,
            note=attempt.note,
            started_at=to_micros(attempt.started_at),
            ended_at=to_micros_or_none(attempt.ended_at),
        )

    def end_attempt(self, attempt: Attempt, outcome: AttemptOutcome, *, note: str, at: datetime) -> None:
        self._rows.execute(
            "attempt_end",
            run_id=attempt.run_id,
            task_id=attempt.task_id,
            number=attempt.number,
            outcome=outcome.value,
            note=note,
            ended_at=to_micros(at),
        )

    def attempts_by_task(self, run_id: str, tasks: list[str] | None = None) -> dict[str, list[Attempt]]:
        """Return the attempts of a run by task id, in order. `tasks`: only the attempts at these tasks."""
        if tasks is None:
            rows = self._rows.fetch_all("attempts_of_run", run_id=run_id)
        else:
            rows = self._rows.fetch_all("attempts_of_tasks", run_id=run_id, tasks=_encode(tasks).decode())
        attempts: defaultdict[str, list[Attempt]] = defaultdict(list)
        for row in rows:
            attempts[row[1]].append(_decode_attempt(row))
        return attempts

    def attempts_without_task(self, run_id: str) -> list[Attempt]:
        """Return the attempts of a run that have not ended although their task was deleted."""
        return [_decode_attempt(row) for row in self._rows.fetch_all("attempts_adrift", run_id=run_id)]

    def attempt_of_session(self, session_id: str) -> Attempt | None:
        row = self._rows.fetch_first("attempt_of_session", session_id=session_id)
        return _decode_attempt(row) if row else None


def _decode_optional_run(row: Row | None) -> Run | None:
    return _decode_run(row) if row is not None else None


def _decode_run(row: Row) -> Run:
    return Run(
        id=row[0],
        project_id=row[1],
        task_id=row[2],
        strategy=RunStrategy(row[3]),
        max_parallel=row[4],
        attempts_max=row[5],
        member=row[6],
        tool=row[7],
        words=_decode_texts(row[8]),
        worktrees=bool(row[9]),
        directory=row[10],
        branch=row[11],
        status=RunStatus(row[12]),
        note=row[13],
        started_by=row[14],
        created_at=from_micros(row[15]),
        ended_at=from_micros_or_none(row[16]),
        resumed_at=from_micros_or_none(row[17]),
        allow=_decode_texts(row[18]),
        asks=AskPolicy(row[19]),
        rights=_decode_rights(row[20]) if row[20] else None,
    )


def _decode_attempt(row: Row) -> Attempt:
    return Attempt(
        run_id=row[0],
        task_id=row[1],
        number=row[2],
        session_id=row[3],
        outcome=AttemptOutcome(row[4]) if row[4] else None,
        started_at=from_micros(row[5]),
        ended_at=from_micros_or_none(row[6]),
        note=row[7],
    )
