"""The interface between repositories and a driver: statements by name, rows as tuples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

Row = Sequence[Any]


class Rows(Protocol):
    """A connection inside a transaction."""

    def execute(self, name: str, /, **values: Any) -> int:
        """Run a statement and return the number of changed rows."""

    def execute_many(self, name: str, sets: Sequence[Mapping[str, Any]], /) -> None:
        """Run a statement once for each set of values."""

    def fetch_first(self, name: str, /, **values: Any) -> Row | None:
        """Return the first row of a statement; None if the statement returns no row."""

    def fetch_all(self, name: str, /, **values: Any) -> list[Row]:
        """Return all rows of a statement."""

    def fetch_page(self, name: str, /, **values: Any) -> list[Row]:
        """Return all rows of a statement with many rows. No column may hold binary data."""
