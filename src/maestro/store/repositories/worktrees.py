"""The repository of worktrees: the checkouts that Maestro made for sessions."""

from __future__ import annotations

from datetime import datetime

from maestro.core.clock import from_micros, from_micros_or_none, to_micros
from maestro.domain.spawns import SessionWorktree
from maestro.store.rows import Row, Rows


class WorktreeRepository:
    """Worktrees by session and project."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def insert(self, worktree: SessionWorktree) -> None:
        self._rows.execute(
            "worktree_insert",
            session_id=worktree.session_id,
            project_id=worktree.project_id,
            repository=worktree.repository,
            path=worktree.path,
            branch=worktree.branch,
            base_commit=worktree.base_commit,
            merges_into=worktree.merges_into,
            created_at=to_micros(worktree.created_at),
        )

    def get(self, session_id: str) -> SessionWorktree | None:
        row = self._rows.fetch_first("worktree_get", session_id=session_id)
        return _decode_worktree(row) if row else None

    def of_project(self, project_id: str, *, after: str, limit: int) -> list[SessionWorktree]:
        rows = self._rows.fetch_all("worktrees_of_project", project_id=project_id, after=after, limit=limit)
        return [_decode_worktree(row) for row in rows]

    def list_removable(self, *, merged: bool, before: datetime, after: str, limit: int) -> list[SessionWorktree]:
        """Return the worktrees of finally ended sessions that can be removed.

        A worktree can be removed if its branch is merged into the branch of the run (only with `merged`), or if its
        program never ran. While the run goes on, the session must have ended before `before`.
        """
        rows = self._rows.fetch_all(
            "worktrees_done_with", merged=merged, before=to_micros(before), after=after, limit=limit
        )
        return [_decode_worktree(row) for row in rows]

    def mark_merged(self, session_id: str, *, into: str, at: datetime) -> None:
        self._rows.execute("worktree_merged", session_id=session_id, into=into, at=to_micros(at))

    def set_conflict_task(self, session_id: str, *, task_id: str) -> None:
        """Record the task that resolves the merge conflict of a worktree's branch."""
        self._rows.execute("worktree_conflicts", session_id=session_id, task_id=task_id)

    def of_conflict_task(self, task_id: str) -> SessionWorktree | None:
        """Return the worktree whose merge conflict a task resolves."""
        row = self._rows.fetch_first("worktree_mended_by", task_id=task_id)
        return _decode_worktree(row) if row else None

    def mark_removed(self, session_id: str, *, at: datetime) -> None:
        self._rows.execute("worktree_removed", session_id=session_id, at=to_micros(at))


def _decode_worktree(row: Row) -> SessionWorktree:
    return SessionWorktree(
        session_id=row[0],
        project_id=row[1],
        repository=row[2],
        path=row[3],
        branch=row[4],
        base_commit=row[5],
        merges_into=row[6],
        merged_into=row[7],
        merged_at=from_micros_or_none(row[8]),
        removed_at=from_micros_or_none(row[9]),
        created_at=from_micros(row[10]),
        conflict_task_id=row[11],
    )
