"""Return free pages of the database file to the disk, in slices that do not delay other writers."""

from __future__ import annotations

from datetime import datetime, timedelta

from maestro.core import limits
from maestro.store.base import Store, Tx

_EVERY = timedelta(hours=1)
_PAUSE = timedelta(milliseconds=50)  # between two slices: other writers come first


class SpaceReleaseJob:
    """A job that shrinks the file while more pages are free than new rows will soon need."""

    name = "released-space"

    def __init__(self, store: Store) -> None:
        self._store = store

    async def run_once(self) -> datetime | None:
        has_more, now = await self._store.write(_release_slice)
        return now + (_PAUSE if has_more else _EVERY)


def _release_slice(tx: Tx) -> tuple[bool, datetime]:
    """Release a slice of free pages. Return whether more pages are to be released, and the present time."""
    free, pages, can_shrink = tx.space.page_usage()
    kept = max(limits.free_pages_kept, pages // limits.free_pages_kept_divisor)
    if not can_shrink or free <= kept:
        return False, tx.at
    tx.space.release_pages()
    return True, tx.at
