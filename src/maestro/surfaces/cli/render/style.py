"""Text for a terminal: make text safe to print, measure its width, mark its colours.

Renderers mark colours with Unicode noncharacters. `finish` turns the marks into escape sequences at the very end,
after it has made every control character visible. Foreign text therefore reaches the terminal only as text, even if
a renderer forgets to clean it.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from maestro.text.hidden_characters import escape_invisible

_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34", "cyan": "36"}
_END = "\ufdd0"
_STARTS = {name: chr(ord(_END) + 1 + index) for index, name in enumerate(_STYLES)}
_SEQUENCES = {_END: "\x1b[0m", **{_STARTS[name]: f"\x1b[{code}m" for name, code in _STYLES.items()}}

_BREAKS = re.compile(r"[\t\n\v\f\r\x85\u2028\u2029]+")
_MARKS = re.compile("[\ufdd0-\ufdef]")
_WIDE = ("W", "F")
_ELLIPSIS = "…"


@dataclass(frozen=True, slots=True)
class View:
    """The target of rendered text: a terminal of some width, or a program that reads the text."""

    tty: bool = False
    columns: int = 0
    color: bool = False

    @property
    def width(self) -> int:
        """Return the columns that fit; 0 means no limit."""
        return self.columns if self.tty else 0


def paint(text: str, style: str) -> str:
    """Mark `text` with a style; `finish_text` applies the style."""
    return f"{_STARTS[style]}{text}{_END}" if text and style else text


def finish_text(text: str, *, color: bool = False) -> str:
    """Make control characters visible and turn style marks into escape sequences, or remove the marks."""
    text = escape_invisible(text)
    return _MARKS.sub(_escape_sequence if color else "", text)


def safe_line(text: str) -> str:
    """Clean foreign text and join the lines to a single line."""
    if text.isascii() and text.isprintable():
        return text
    text = _BREAKS.sub(" ", _MARKS.sub("", text))
    return escape_invisible(text)


def safe_body(text: str) -> str:
    """Clean foreign text that may have many lines."""
    text = _MARKS.sub("", text.replace("\r\n", "\n"))
    return escape_invisible(text)


def indent_text(text: str, indent: str = "  ") -> str:
    """Clean foreign text and indent each of its lines."""
    return "\n".join(indent + part if part else part for part in safe_body(text).split("\n"))


@lru_cache(4096)  # most cells of a table repeat a few words
def text_width(text: str) -> int:
    """Return the columns that the text takes in a terminal."""
    if not text.isascii():
        text = _MARKS.sub("", text)
    return len(text) if text.isascii() else sum(map(_char_columns, text))


def clip_text(text: str, columns: int) -> str:
    """Return the text, cut to `columns` with an ellipsis if it is too wide."""
    if text_width(text) <= columns:
        return text
    kept, room = [], max(columns - 1, 0)
    for char in text:
        room -= _char_columns(char)
        if room < 0:
            break
        kept.append(char)
    end = _END if _MARKS.search(text) else ""  # the style must end where the text is cut
    return "".join(kept) + _ELLIPSIS + end if columns > 0 else ""


def align_rows(rows: Iterable[Sequence[str]], *, gap: str = "  ", indent: str = "") -> str:
    """Render rows of cells as aligned lines. The last cell of a row is never padded."""
    table = list(rows)
    measured = [[text_width(cell) for cell in row[:-1]] for row in table]
    widest = [max(column) for column in itertools.zip_longest(*measured, fillvalue=0)]
    lines = []
    for row, widths in zip(table, measured, strict=True):
        padded = [
            cell + " " * (column_width - cell_width)
            for cell, cell_width, column_width in zip(row, widths, widest, strict=False)
        ]
        lines.append(indent + gap.join([*padded, row[-1]]).rstrip())
    return "\n".join(lines) + "\n" if lines else ""


def _char_columns(char: str) -> int:
    if char.isascii():
        return 1
    if unicodedata.combining(char) or unicodedata.category(char) in ("Cf", "Mn", "Cn"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in _WIDE else 1


def _escape_sequence(mark: re.Match[str]) -> str:
    return _SEQUENCES.get(mark[0], "")
