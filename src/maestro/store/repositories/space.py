"""The repository of disk space: the free pages of the database file."""

from __future__ import annotations

from maestro.store.rows import Rows


class SpaceRepository:
    """The free pages of the database file, given back to the disk a few at a time."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def page_usage(self) -> tuple[int, int, bool]:
        """Return the number of free pages, the number of all pages, and whether the file can give pages back."""
        row = self._rows.fetch_first("space_usage")
        assert row is not None
        return row[0], row[1], bool(row[2])

    def release_pages(self) -> None:
        """Give at most `limits.released_pages_at_once` pages back."""
        self._rows.fetch_all("space_release")
