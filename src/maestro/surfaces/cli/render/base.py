"""The result of a renderer, and helpers that several renderers share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from maestro.domain.priorities import Priority
from maestro.surfaces.cli.render.style import View, align_rows, paint, safe_line

_PRIORITY_COLORS = {Priority.CRITICAL: "red", Priority.HIGH: "yellow", Priority.LOW: "dim"}


@dataclass(frozen=True)
class Rendered:
    """A rendered answer: `out` for standard output, `notes` for standard error."""

    out: str | bytes = ""
    notes: list[str] = field(default_factory=list)


Renderer = Callable[[Any, View], Rendered]


def format_time(at: datetime | None) -> str:
    """Format a time to the second, in UTC, by RFC 3339."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if at else ""


def format_age(since: datetime, at: datetime) -> str:
    """Format the time that has passed, in one unit: 12 s, 5 min, 3 h, 2 d."""
    seconds = max((at - since).total_seconds(), 0)
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= size:
            return f"{seconds // size:.0f} {unit}"
    return f"{seconds:.0f} s"


def format_size(count: int) -> str:
    """Format a number of bytes for people."""
    amount = float(count)
    for unit in ("B", "KiB", "MiB"):
        if amount < 1024:
            return f"{amount:.0f} B" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} GiB"


def priority_word(priority: Priority) -> str:
    """Return the word of a priority in its color."""
    return paint(priority, _PRIORITY_COLORS.get(priority, ""))


def render_pairs(rows: Iterable[tuple[str, str | None]], *, indent: str = "") -> str:
    """Render names and values as aligned lines. Leave out names without a value."""
    return align_rows(((paint(name, "dim"), value) for name, value in rows if value), indent=indent)


def next_page_note(cursor: str | None) -> list[str]:
    """Return the note that a list continues on a next page."""
    return [f"more results: --cursor {safe_line(cursor)}"] if cursor else []


def render_table(rows: list[list[str]], head: list[str], view: View) -> str:
    """Render a table. Only a terminal gets the heading, so that scripts find data on the first line."""
    heading = [[paint(title, "dim") for title in head]] if view.tty else []
    return align_rows([*heading, *rows])
