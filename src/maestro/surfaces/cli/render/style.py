"""Text for a terminal: what is safe to print, how wide it is, and where it is coloured.

Renderers mark colours with characters that Unicode keeps for a program's own use; `finish` turns them into escape
sequences at the very end, after it has made every control character visible. So no text from elsewhere can reach
the terminal as anything but text, whatever a renderer forgets.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from maestro.text.unseen import spell_out

_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34", "cyan": "36"}
_END = "\ufdd0"
_STARTS = {name: chr(ord(_END) + 1 + place) for place, name in enumerate(_STYLES)}
_SEQUENCES = {_END: "\x1b[0m", **{_STARTS[name]: f"\x1b[{code}m" for name, code in _STYLES.items()}}

_BREAKS = re.compile(r"[\t\n\v\f\r\x85\u2028\u2029]+")
_MARKS = re.compile("[\ufdd0-\ufdef]")
_WIDE = ("W", "F")
_ELLIPSIS = "…"


@dataclass(frozen=True, slots=True)
class View:
    """What the text is for: a terminal of some width, or something that reads it."""

    tty: bool = False
    columns: int = 0
    color: bool = False

    @property
    def width(self) -> int:
        """How much fits; 0 means that nothing is cut."""
        return self.columns if self.tty else 0


def paint(text: str, style: str) -> str:
    """`text` in a style, once it is finished."""
    return f"{_STARTS[style]}{text}{_END}" if text and style else text


def finish(text: str, *, color: bool = False) -> str:
    """The text as it goes out."""
    text = spell_out(text)
    return _MARKS.sub(_sequence if color else "", text)


def line(text: str) -> str:
    """Text from elsewhere that must stay on one line."""
    if text.isascii() and text.isprintable():
        return text
    text = _BREAKS.sub(" ", _MARKS.sub("", text))
    return spell_out(text)


def body(text: str) -> str:
    """Text from elsewhere that may have many lines."""
    text = _MARKS.sub("", text.replace("\r\n", "\n"))
    return spell_out(text)


def indented(text: str, by: str = "  ") -> str:
    """A body below a heading."""
    return "\n".join(by + part if part else part for part in body(text).split("\n"))


@lru_cache(4096)  # most cells of a table are one of a few words
def width(text: str) -> int:
    """How many columns the text takes."""
    if not text.isascii():
        text = _MARKS.sub("", text)
    return len(text) if text.isascii() else sum(map(_columns, text))


def clip(text: str, columns: int) -> str:
    """The text, or as much of its beginning as fits."""
    if width(text) <= columns:
        return text
    taken, room = [], max(columns - 1, 0)
    for char in text:
        room -= _columns(char)
        if room < 0:
            break
        taken.append(char)
    end = _END if _MARKS.search(text) else ""  # a style must not outlast what was cut
    return "".join(taken) + _ELLIPSIS + end if columns > 0 else ""


def aligned(rows: Iterable[Sequence[str]], *, gap: str = "  ", indent: str = "") -> str:
    """Rows of cells as lines; the last cell of a row is never padded."""
    table = list(rows)
    measured = [[width(cell) for cell in row[:-1]] for row in table]
    widest = [max(column) for column in itertools.zip_longest(*measured, fillvalue=0)]
    lines = []
    for row, widths in zip(table, measured, strict=True):
        padded = [cell + " " * (most - own) for cell, own, most in zip(row, widths, widest, strict=False)]
        lines.append(indent + gap.join([*padded, row[-1]]).rstrip())
    return "\n".join(lines) + "\n" if lines else ""


def _columns(char: str) -> int:
    if char.isascii():
        return 1
    if unicodedata.combining(char) or unicodedata.category(char) in ("Cf", "Mn", "Cn"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in _WIDE else 1


def _sequence(found: re.Match[str]) -> str:
    return _SEQUENCES.get(found[0], "")
