"""Parses TOML that others wrote, in bounded time.

The standard parser needs time that grows with the square of a key's parts, and recursion for every bracket. A number
of thousands of digits makes it fail with another error. A look at the words first, in one pass, refuses all of these.
"""

from __future__ import annotations

import re
import tomllib
from typing import Any

from maestro.core import limits

# One step of the look: a whole string, a comment, a mark that counts, or a run of all else.
_STRING = re.compile(
    r'"""(?:[^"\\]++|\\.|"(?!""))*+"{3,5}' + r"|'''(?:[^']++|'(?!''))*+'{3,5}"
    r'|"(?:[^"\\\n]++|\\.)*+"' + r"|'[^'\n]*+'",
    re.DOTALL,
)
_OTHER = re.compile(r"""#[^\n]*+|[\[\]{}.,=\n]|[ \t\r]++|[^\s"'#\[\]{}.,=]++|\s""")
_MARKS = frozenset("[]{}.,=\n")


class Unreadable(ValueError):
    """The text is not TOML, or more than Maestro reads."""


def parse(text: str) -> dict[str, Any]:
    """Return what a text says; Unreadable, with one line, for a text that is not TOML or is beyond the limits."""
    if len(text) > limits.checkout_settings_bytes_max:
        raise Unreadable(f"it is larger than {limits.checkout_settings_bytes_max} bytes")
    _look_over(text)
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise Unreadable(str(error)) from None


def _look_over(text: str) -> None:
    """Refuse what would take the parser long."""
    at = depth = dots = marks = 0
    while at < len(text):
        is_string = text[at] in "\"'"
        found = (_STRING if is_string else _OTHER).match(text, at)
        if found is None:
            raise _refusal(text, at, "a string does not end")
        word, at = found[0], found.end()
        if is_string or word[0] == "#":
            continue
        marks += word in _MARKS
        if marks > limits.toml_marks_max:
            raise _refusal(text, at, f"it has more than {limits.toml_marks_max} lines, values and brackets")
        if word == ".":
            dots += 1
            if dots >= limits.toml_key_parts_max:
                raise _refusal(text, at, f"a key has more than {limits.toml_key_parts_max} parts")
        elif word in "[{":
            dots, depth = 0, depth + 1
            if depth > limits.toml_depth_max:
                raise _refusal(text, at, f"brackets stand more than {limits.toml_depth_max} deep")
        elif word in "]}":
            depth = max(depth - 1, 0)
        elif word in ",=\n":
            dots = 0
        elif len(word) > limits.toml_word_chars_max and not word.isspace():
            raise _refusal(text, at, f"a word or number is longer than {limits.toml_word_chars_max} characters")


def _refusal(text: str, at: int, why: str) -> Unreadable:
    return Unreadable(f"{why} (at line {text.count(chr(10), 0, at) + 1})")
