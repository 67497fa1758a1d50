"""Cursors of lists: plain numbers, as they come back from whoever turns the page."""

from __future__ import annotations

from maestro.core import errors

NEWEST = 2**62
_DIGITS_MAX = 18


def number(cursor: str, *, first: int = 0) -> int:
    """A place in a list; without a cursor, where it begins."""
    if not cursor:
        return first
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) <= _DIGITS_MAX):
        raise errors.Invalid(f"{cursor[:40]!r} is not a cursor of this list.")
    return int(cursor)


def before(cursor: str) -> int:
    """A place in a list that begins with the newest."""
    return number(cursor, first=NEWEST)
