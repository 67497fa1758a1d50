"""What a renderer gives, and what several of them need."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from maestro.surfaces.cli.render.style import View, aligned, line, paint


@dataclass(frozen=True)
class Rendered:
    """An answer in its parts: what was asked for, and what else there is to say."""

    out: str | bytes = ""
    notes: list[str] = field(default_factory=list)


Renderer = Callable[[Any, View], Rendered]


def when(at: datetime | None) -> str:
    """A time to the second, in UTC, as RFC 3339 has it."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if at else ""


def size(count: int) -> str:
    """A number of bytes, for people."""
    amount = float(count)
    for unit in ("B", "KiB", "MiB"):
        if amount < 1024:
            return f"{amount:.0f} B" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} GiB"


def pairs(rows: Iterable[tuple[str, str | None]], *, indent: str = "") -> str:
    """Names and values below each other; what has no value is left out."""
    return aligned(((paint(name, "dim"), value) for name, value in rows if value), indent=indent)


def more(cursor: str | None) -> list[str]:
    """The note that a list goes on."""
    return [f"there is more: --cursor {line(cursor)}"] if cursor else []


def listed(rows: list[list[str]], head: list[str], view: View) -> str:
    """A table; its heading is for people, so that scripts find data on the first line."""
    heading = [[paint(title, "dim") for title in head]] if view.tty else []
    return aligned([*heading, *rows])
