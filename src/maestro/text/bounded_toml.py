"""Parse TOML of other people in bounded time.

The standard parser needs time that grows with the square of a key's parts, and recursion for every bracket. A number
of thousands of digits makes the parser fail with another error. A first pass over the tokens refuses all such texts.
"""

from __future__ import annotations

import re
import tomllib
from typing import Any

from maestro.core import limits

# The tokens of the first pass: a whole string, a comment, a counted mark, or a run of other characters.
# At every character only one alternative matches, so that the time stays linear. Possessive quantifiers would say so,
# but Python before 3.11.5 matches them wrongly.
_STRING = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*"{3,5}' + r"|'''(?:[^']|'(?!''))*'{3,5}"
    r'|"(?:[^"\\\n]|\\.)*"' + r"|'[^'\n]*'",
    re.DOTALL,
)
_OTHER_TOKEN = re.compile(r"""#[^\n]*|[\[\]{}.,=\n]|[ \t\r]+|[^\s"'#\[\]{}.,=]+|\s""")
_MARKS = frozenset("[]{}.,=\n")


class TomlUnreadable(ValueError):
    """The text is not TOML, or exceeds a limit."""


def parse_toml(text: str) -> dict[str, Any]:
    """Return the parsed text.

    Raise an error with a message of one line if the text is not TOML or exceeds a limit.
    """
    if len(text) > limits.checkout_settings_bytes_max:
        raise TomlUnreadable(f"it is larger than {limits.checkout_settings_bytes_max} bytes")
    _check_tokens(text)
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise TomlUnreadable(str(error)) from None


def _check_tokens(text: str) -> None:
    """Refuse a text that would take the parser long."""
    position = depth = dots = marks = 0
    while position < len(text):
        is_string = text[position] in "\"'"
        found = (_STRING if is_string else _OTHER_TOKEN).match(text, position)
        if found is None:
            raise _refusal(text, position, "a string does not end")
        token, position = found[0], found.end()
        if is_string or token[0] == "#":
            continue
        marks += token in _MARKS
        if marks > limits.toml_marks_max:
            raise _refusal(text, position, f"it has more than {limits.toml_marks_max} lines, values and brackets")
        if token == ".":
            dots += 1
            if dots >= limits.toml_key_parts_max:
                raise _refusal(text, position, f"a key has more than {limits.toml_key_parts_max} parts")
        elif token in "[{":
            dots, depth = 0, depth + 1
            if depth > limits.toml_depth_max:
                raise _refusal(text, position, f"brackets are nested more than {limits.toml_depth_max} deep")
        elif token in "]}":
            depth = max(depth - 1, 0)
        elif token in ",=\n":
            dots = 0
        elif len(token) > limits.toml_token_chars_max and not token.isspace():
            raise _refusal(text, position, f"a key or number is longer than {limits.toml_token_chars_max} characters")


def _refusal(text: str, position: int, why: str) -> TomlUnreadable:
    return TomlUnreadable(f"{why} (at line {text.count(chr(10), 0, position) + 1})")
