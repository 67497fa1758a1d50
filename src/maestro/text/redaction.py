"""Hide Maestro's tokens in texts that are stored or shown.

Every text with the form of a token is hidden. To hide only real tokens, every stored text would need a look-up by
hash, and the token of another server on the same machine would stay readable. Other texts do not look like `mst_` and
43 characters. A runner uses this module too, so the module imports the standard library only.
"""

from __future__ import annotations

import re

TOKEN_PREFIX = "mst_"
HIDDEN_TOKEN = "mst_[hidden]"
_TOKEN_CHARS = 43  # characters of a session's token after the prefix; a person's token has more
_TOKEN_CHAR = "[A-Za-z0-9_-]"
_TOKEN = re.compile(f"{TOKEN_PREFIX}{_TOKEN_CHAR}{{{_TOKEN_CHARS},}}")
_TOKEN_BYTES = re.compile(_TOKEN.pattern.encode())

# A terminal's output may colour a part of a token, or break the token at the end of a line.
_BETWEEN = r"(?:\x1b\[[0-?]*[ -/]*[@-~]|\r?\n[ \t]*)"
_BROKEN_CHARS = f"(?:{_BETWEEN}*{_TOKEN_CHAR}){{{_TOKEN_CHARS}}}"
_TERMINAL_TOKEN = re.compile(f"{TOKEN_PREFIX}(?:{_BETWEEN}*person_|(?!person_)){_BROKEN_CHARS}")
_TOKEN_BEGINNING = re.compile(
    rf"{TOKEN_PREFIX}(?:{_BETWEEN}*{_TOKEN_CHAR})*{_BETWEEN}*(?:\r|\x1b(?:\[[0-?]*[ -/]*)?)?"
)
_PERSON_PREFIX = "person_"
_REST_CHARS_MAX = len(TOKEN_PREFIX) - 1 + len(_PERSON_PREFIX) + _TOKEN_CHARS
# The cut may also split a colour code or an indentation.
_SPLIT_TOKEN = re.compile(rf"\A(?:\[?[0-9;]*[mK]|[ \t]+)?(?:{_BETWEEN}*{_TOKEN_CHAR}){{1,{_REST_CHARS_MAX}}}")
_COLOUR = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_WRAPPED_COLUMNS_MIN = 20  # no terminal breaks a shorter line
_TOKEN_BEGINNING_CHARS_MAX = 600
_LONG_CHARS = 1024  # a longer piece was cut by the reader, not ended by the program


def hide_tokens(text: str) -> str:
    """Return the text with each token replaced."""
    return _TOKEN.sub(HIDDEN_TOKEN, text) if TOKEN_PREFIX in text else text


def hide_tokens_in_bytes(data: bytes) -> bytes:
    """Return bytes with each token replaced."""
    return _TOKEN_BYTES.sub(HIDDEN_TOKEN.encode(), data) if TOKEN_PREFIX.encode() in data else data


def hide_in_terminal(text: str) -> str:
    """Return a terminal's output with each token replaced, also a token that is coloured or broken over lines."""
    return _TERMINAL_TOKEN.sub(HIDDEN_TOKEN, text) if TOKEN_PREFIX in text else text


def hide_in_end(text: str) -> str:
    """Return the end of a longer output with tokens replaced. The rest of a token that the cut split is removed."""
    text = hide_in_terminal(text)
    return text[_split_chars(text) :]


def _split_chars(text: str) -> int:
    """Return how many characters at the beginning may be the rest of a token.

    The width of the first line is not known, because the cut removed its beginning. A later line was wrapped by the
    terminal only if the line is wide enough.
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


class TokenFilter:
    """A filter that hides tokens in the pieces of a terminal's output, also a token that is split over two pieces."""

    def __init__(self) -> None:
        self._held = ""

    def filter_piece(self, piece: str) -> str:
        """Return the output that can be shown after a piece. A possible beginning of a token is held back."""
        text = hide_in_terminal(self._held + piece)
        shown_chars = len(text) - _held_chars(text, is_cut=len(piece) >= _LONG_CHARS)
        self._held = text[shown_chars:]
        return text[:shown_chars]

    def release_held(self) -> str:
        """Return the text that was held back, at the end of the output."""
        rest, self._held = self._held, ""
        return rest


def _held_chars(text: str, *, is_cut: bool) -> int:
    """Return how many characters at the end may be the beginning of a token."""
    begun = text.rfind(TOKEN_PREFIX, max(0, len(text) - _TOKEN_BEGINNING_CHARS_MAX))
    if begun >= 0:
        return len(text) - begun if _TOKEN_BEGINNING.fullmatch(text, begun) else 0
    # Few programs end their output within the prefix, so only the prefix at the end of a cut piece is held back.
    return next((size for size in (3, 2, 1) if is_cut and text.endswith(TOKEN_PREFIX[:size])), 0)
