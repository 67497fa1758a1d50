"""Takes worktrees away that nobody needs: of sessions whose work is merged, or whose program never started.

Nothing is lost by that: what is not clean, or not where it is to go, stays, and so does what nobody merged.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from maestro.core import errors, limits
from maestro.domain.spawns import Worktree
from maestro.services.worktrees.keeping import Worktrees
from maestro.store.base import Store, Tx

log = logging.getLogger(__name__)


class Tidying:
    """Looks when a session has ended or a task is done; what could not be removed is not tried at every look."""

    name = "tidying"

    def __init__(self, store: Store, worktrees: Worktrees, *, keeps_merged: bool) -> None:
        self._store = store
        self._worktrees = worktrees
        self._keeps_merged = keeps_merged
        self._kept: set[tuple[str, datetime | None]] = set()

    async def run_once(self) -> datetime | None:
        for one in await self._store.read(self._done_with):
            seen = (one.session_id, one.merged_at)
            if seen in self._kept:
                continue
            try:
                await self._worktrees.take_away(one)
            except errors.MaestroError as error:
                self._kept.add(seen)
                log.info("the worktree %s stays: %s", one.path, error)
        return None

    def _done_with(self, tx: Tx) -> list[Worktree]:
        found: list[Worktree] = []
        after = ""
        while True:
            # A run that goes on has better things to do, unless it takes long and leaves many.
            page = tx.worktrees.done_with(
                merged=not self._keeps_merged,
                before=tx.at - timedelta(seconds=limits.tidy_seconds),
                after=after,
                limit=limits.page_items_max,
            )
            found += page
            if len(page) < limits.page_items_max:
                return found
            after = page[-1].session_id
