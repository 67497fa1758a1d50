"""The pages of the database file that hold nothing."""

from __future__ import annotations

from maestro.store.rows import Rows


class Space:
    """Free pages of the file, given back to the disk a few at a time."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def usage(self) -> tuple[int, int, bool]:
        """Return the free pages, all pages, and whether the file can give free pages back."""
        row = self._rows.one("space_usage")
        assert row is not None
        return row[0], row[1], bool(row[2])

    def release(self) -> None:
        """Give at most `limits.released_pages_at_once` pages back."""
        self._rows.all("space_release")
