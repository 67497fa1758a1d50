"""The repository of runs and of their attempts at tasks."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime

import msgspec

from maestro.core.clock import to_micros, to_micros_or_none
from maestro.domain.runs import Attempt, AttemptOutcome, Run, RunStatus
from maestro.store.decoding import Decoder
from maestro.store.rows import Rows

_encode = msgspec.json.Encoder().encode
_RUN = Decoder(Run)
_ATTEMPT = Decoder(Attempt)


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
            arguments=_encode(run.arguments).decode(),
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
        return self._rows.fetch_first("run_get", _RUN, id=run_id)

    def of_task(self, task_id: str) -> Run | None:
        """Return the live run of a task."""
        return self._rows.fetch_first("run_of_task", _RUN, task_id=task_id)

    def last_of_task(self, task_id: str) -> Run | None:
        """Return the live run of a task, or else the last run of the task."""
        return self._rows.fetch_first("run_last_of_task", _RUN, task_id=task_id)

    def list_live(self, *, after: str = "", limit: int) -> list[Run]:
        return self._rows.fetch_all("runs_live", _RUN, after=after, limit=limit)

    def list_page(self, project_id: str, *, before: str, limit: int) -> list[Run]:
        return self._rows.fetch_all("runs_page", _RUN, project_id=project_id, before=before, limit=limit)

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
            found = self._rows.fetch_all("attempts_of_run", _ATTEMPT, run_id=run_id)
        else:
            values = {"run_id": run_id, "tasks": _encode(tasks).decode()}
            found = self._rows.fetch_all("attempts_of_tasks", _ATTEMPT, **values)
        attempts: defaultdict[str, list[Attempt]] = defaultdict(list)
        for attempt in found:
            attempts[attempt.task_id].append(attempt)
        return attempts

    def attempts_without_task(self, run_id: str) -> list[Attempt]:
        """Return the attempts of a run that have not ended although their task was deleted."""
        return self._rows.fetch_all("attempts_adrift", _ATTEMPT, run_id=run_id)

    def attempt_of_session(self, session_id: str) -> Attempt | None:
        return self._rows.fetch_first("attempt_of_session", _ATTEMPT, session_id=session_id)
