"""The repository of disk space: the free pages of the database file."""

from __future__ import annotations

from typing import NamedTuple

from maestro.core import limits
from maestro.store.decoding import Decoder
from maestro.store.rows import Rows


class PageUsage(NamedTuple):
    """The number of free pages, the number of all pages, and whether the file can give pages back."""

    free: int
    total: int
    can_shrink: bool


_USAGE = Decoder(PageUsage)


class SpaceRepository:
    """The free pages of the database file, given back to the disk a few at a time."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def page_usage(self) -> PageUsage:
        usage = self._rows.fetch_first("space_usage", _USAGE)
        assert usage is not None
        return usage

    def release_pages(self) -> None:
        """Give at most `limits.released_pages_at_once` pages back."""
        for _ in range(limits.released_pages_at_once):
            self._rows.execute("space_release")
