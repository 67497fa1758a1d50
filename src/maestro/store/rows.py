"""How repositories reach a driver: statements by name, rows as tuples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

Row = Sequence[Any]


class Rows(Protocol):
    """One connection inside a transaction."""

    def run(self, name: str, /, **values: Any) -> int:
        """Run a statement; how many rows it changed."""

    def many(self, name: str, sets: Sequence[Mapping[str, Any]], /) -> None:
        """Run a statement once for each set of values."""

    def one(self, name: str, /, **values: Any) -> Row | None:
        """The first row of a statement, or none."""

    def all(self, name: str, /, **values: Any) -> list[Row]:
        """All rows of a statement."""

    def page(self, name: str, /, **values: Any) -> list[Row]:
        """All rows of a statement that gives many, and none with binary data."""
