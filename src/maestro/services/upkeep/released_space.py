"""Gives free pages of the database file back to the disk, in slices that hold no other writer up."""

from __future__ import annotations

from datetime import datetime, timedelta

from maestro.core import limits
from maestro.store.base import Store, Tx

_EVERY = timedelta(hours=1)
_PAUSE = timedelta(milliseconds=50)  # between two slices: other writers come first


class ReleasedSpace:
    """Shrinks the file while more of it is free than new rows will soon need."""

    name = "released-space"

    def __init__(self, store: Store) -> None:
        self._store = store

    async def run_once(self) -> datetime | None:
        has_more, now = await self._store.write(_release)
        return now + (_PAUSE if has_more else _EVERY)


def _release(tx: Tx) -> tuple[bool, datetime]:
    """Release one slice; return whether more is to be released."""
    free, pages, can_shrink = tx.space.usage()
    kept = max(limits.free_pages_kept, pages // limits.free_pages_kept_divisor)
    if not can_shrink or free <= kept:
        return False, tx.at
    tx.space.release()
    return True, tx.at
