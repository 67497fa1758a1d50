"""The interface between repositories and a driver: statements by name, rows decoded by column name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeVar

from maestro.store.decoding import Decoder

T = TypeVar("T")


class Rows(Protocol):
    """A connection inside a transaction."""

    def execute(self, name: str, /, **values: Any) -> int:
        """Run a statement and return the number of changed rows."""

    def execute_many(self, name: str, sets: Sequence[Mapping[str, Any]], /) -> None:
        """Run a statement once for each set of values."""

    def fetch_first(self, name: str, decoder: Decoder[T], /, **values: Any) -> T | None:
        """Return the first row of a statement; None if the statement returns no row."""

    def fetch_all(self, name: str, decoder: Decoder[T], /, **values: Any) -> list[T]:
        """Return all rows of a statement."""

    def fetch_page(self, name: str, decoder: Decoder[T], /, **values: Any) -> list[T]:
        """Return all rows of a statement with many rows. No column may hold binary data."""

    def fetch_value(self, name: str, /, **values: Any) -> Any:
        """Return the only column of a statement's first row; None if the statement returns no row."""

    def fetch_values(self, name: str, /, **values: Any) -> list[Any]:
        """Return the only column of all rows of a statement."""

    def has_row(self, name: str, /, **values: Any) -> bool:
        """Return whether a statement returns a row."""
