"""Remove worktrees of sessions whose work is merged, or whose program never started.

No work is lost: a worktree with uncommitted changes or unmerged commits stays.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from maestro.core import errors, limits
from maestro.domain.spawns import SessionWorktree
from maestro.services.worktrees.lifecycle import SessionWorktrees
from maestro.store.base import Store, Tx

log = logging.getLogger(__name__)


class WorktreeTidyJob:
    """A job that runs when a session has ended or a task is done. Refused removals are not repeated each round."""

    name = "worktree-removal"

    def __init__(self, store: Store, worktrees: SessionWorktrees, *, keeps_merged: bool) -> None:
        self._store = store
        self._worktrees = worktrees
        self._keeps_merged = keeps_merged
        self._kept: set[tuple[str, datetime | None]] = set()

    async def run_once(self) -> datetime | None:
        for worktree in await self._store.read(self._removable_worktrees):
            state = (worktree.session_id, worktree.merged_at)
            if state in self._kept:
                continue
            try:
                await self._worktrees.remove_worktree(worktree)
            except errors.MaestroError as error:
                self._kept.add(state)
                log.info("the worktree %s stays: %s", worktree.path, error)
        return None

    def _removable_worktrees(self, tx: Tx) -> list[SessionWorktree]:
        removable: list[SessionWorktree] = []
        after = ""
        while True:
            # Removal would slow a running run down, so its worktrees wait, unless the run takes long and leaves many.
            page = tx.worktrees.list_removable(
                merged=not self._keeps_merged,
                before=tx.at - timedelta(seconds=limits.worktree_kept_seconds),
                after=after,
                limit=limits.page_items_max,
            )
            removable += page
            if len(page) < limits.page_items_max:
                return removable
            after = page[-1].session_id
