"""Parse the cursors of lists: plain numbers that the caller sends back to get the next page."""

from __future__ import annotations

from maestro.core import errors

NEWEST = 2**62
_DIGITS_MAX = 18


def parse_cursor(cursor: str, *, first: int = 0) -> int:
    """Return the number in a cursor; `first` for an empty cursor."""
    if not cursor:
        return first
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) <= _DIGITS_MAX):
        raise errors.Invalid(
            f"{cursor[:40]!r} is not a cursor of this list.", hint="Use the `cursor` of the page before."
        )
    return int(cursor)


def parse_newest_first_cursor(cursor: str) -> int:
    """Return the number in a cursor of a list that begins with the newest entry."""
    return parse_cursor(cursor, first=NEWEST)
