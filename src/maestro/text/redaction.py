"""Hides Maestro's tokens in texts that are stored or shown.

Whatever looks like a token is hidden. To hide only real tokens, every stored text would need a look-up by hash, and
the token of another server on the same machine would stay readable. Nothing else looks like `mst_` and 43 characters.

A runner uses this module too, so it needs the standard library alone.
"""

from __future__ import annotations

import re

PREFIX = "mst_"
HIDDEN = "mst_[hidden]"
_LETTERS = 43  # of a session's token behind its prefix; a person's token has more
_LETTER = "[A-Za-z0-9_-]"
_TOKEN = re.compile(f"{PREFIX}{_LETTER}{{{_LETTERS},}}")
_TOKEN_BYTES = re.compile(_TOKEN.pattern.encode())

# A terminal's output may colour a part of a token, or break it at the end of a line.
_BETWEEN = r"(?:\x1b\[[0-?]*[ -/]*[@-~]|\r?\n[ \t]*)"
_LETTERS_BETWEEN = f"(?:{_BETWEEN}*{_LETTER}){{{_LETTERS}}}"
_TERMINAL_TOKEN = re.compile(f"{PREFIX}(?:{_BETWEEN}*person_|(?!person_)){_LETTERS_BETWEEN}")
_BEGUN = re.compile(rf"{PREFIX}(?:{_BETWEEN}*{_LETTER})*{_BETWEEN}*(?:\r|\x1b(?:\[[0-?]*[ -/]*)?)?")
_PERSON = "person_"
_REST_LETTERS_MAX = len(PREFIX) - 1 + len(_PERSON) + _LETTERS
# The cut may also lie within a colour code or an indentation.
_SPLIT_TOKEN = re.compile(rf"\A(?:\[?[0-9;]*[mK]|[ \t]+)?(?:{_BETWEEN}*{_LETTER}){{1,{_REST_LETTERS_MAX}}}")
_COLOUR = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_WRAPPED_COLUMNS_MIN = 20  # no terminal breaks a shorter line
_BEGUN_CHARS_MAX = 600
_LONG_CHARS = 1024  # a piece of this length was cut by the reader, not ended by the program


def hide(text: str) -> str:
    """Return the text with each token replaced; the text itself if it holds none."""
    return _TOKEN.sub(HIDDEN, text) if PREFIX in text else text


def hide_bytes(data: bytes) -> bytes:
    """Return bytes with each token replaced."""
    return _TOKEN_BYTES.sub(HIDDEN.encode(), data) if PREFIX.encode() in data else data


def hide_in_terminal(text: str) -> str:
    """Return a terminal's output with each token replaced, also one that is coloured or broken over lines."""
    return _TERMINAL_TOKEN.sub(HIDDEN, text) if PREFIX in text else text


def hide_in_end(text: str) -> str:
    """Return the end of a longer output with tokens replaced, without the rest of a token that the cut split."""
    text = hide_in_terminal(text)
    return text[_split_chars(text) :]


def _split_chars(text: str) -> int:
    """Return how many characters at the beginning may be the rest of a token.

    The cut hides how wide the first line was. A terminal wrapped a later line only if the line is wide enough.
    """
    found = _SPLIT_TOKEN.match(text)
    if found is None:
        return 0
    first, *later = found[0].splitlines(keepends=True)
    size = len(first)
    for line in later:
        size += len(line)
        if len(_COLOUR.sub("", line).rstrip("\r\n")) < _WRAPPED_COLUMNS_MIN:
            return size - len(line) + len(line.rstrip("\r\n"))
    return size


class TerminalStream:
    """Hides tokens in a terminal's output that comes in pieces, also a token that two pieces share."""

    def __init__(self) -> None:
        self._held = ""

    def take(self, piece: str) -> str:
        """Return what can be shown after this piece; the beginning of a token is held back."""
        text = hide_in_terminal(self._held + piece)
        kept = len(text) - _held_chars(text, is_cut=len(piece) >= _LONG_CHARS)
        self._held = text[kept:]
        return text[:kept]

    def rest(self) -> str:
        """Return what was held back: nothing follows it."""
        rest, self._held = self._held, ""
        return rest


def _held_chars(text: str, *, is_cut: bool) -> int:
    """Return how many characters at the end may be the beginning of a token."""
    begun = text.rfind(PREFIX, max(0, len(text) - _BEGUN_CHARS_MAX))
    if begun >= 0:
        return len(text) - begun if _BEGUN.fullmatch(text, begun) else 0
    # Few programs end their output within the prefix: only a piece that was cut is worth the wait.
    return next((size for size in (3, 2, 1) if is_cut and text.endswith(PREFIX[:size])), 0)
