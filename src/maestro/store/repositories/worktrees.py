"""The repository of worktrees: the checkouts that Maestro made for sessions."""

from __future__ import annotations

from datetime import datetime

from maestro.core.clock import to_micros
from maestro.domain.spawns import SessionWorktree
from maestro.store.decoding import Decoder
from maestro.store.rows import Rows

_WORKTREE = Decoder(SessionWorktree)


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
        return self._rows.fetch_first("worktree_get", _WORKTREE, session_id=session_id)

    def of_project(self, project_id: str, *, after: str, limit: int) -> list[SessionWorktree]:
        values = {"project_id": project_id, "after": after, "limit": limit}
        return self._rows.fetch_all("worktrees_of_project", _WORKTREE, **values)

    def list_removable(self, *, merged: bool, before: datetime, after: str, limit: int) -> list[SessionWorktree]:
        """Return the worktrees of finally ended sessions that can be removed.

        A worktree can be removed if its branch is merged into the branch of the run (only with `merged`), or if its
        program never ran. While the run goes on, the session must have ended before `before`.
        """
        values = {"merged": merged, "before": to_micros(before), "after": after, "limit": limit}
        return self._rows.fetch_all("worktrees_done_with", _WORKTREE, **values)

    def mark_merged(self, session_id: str, *, into: str, at: datetime) -> None:
        self._rows.execute("worktree_merged", session_id=session_id, into=into, at=to_micros(at))

    def set_conflict_task(self, session_id: str, *, task_id: str) -> None:
        """Record the task that resolves the merge conflict of a worktree's branch."""
        self._rows.execute("worktree_conflicts", session_id=session_id, task_id=task_id)

    def of_conflict_task(self, task_id: str) -> SessionWorktree | None:
        """Return the worktree whose merge conflict a task resolves."""
        return self._rows.fetch_first("worktree_mended_by", _WORKTREE, task_id=task_id)

    def mark_removed(self, session_id: str, *, at: datetime) -> None:
        self._rows.execute("worktree_removed", session_id=session_id, at=to_micros(at))
