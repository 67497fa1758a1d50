"""Escape invisible characters: controls, reading direction, tags, joiners, selectors.

A model reads invisible characters and a person does not, so a text could carry a hidden message. Emoji and some
scripts need some of the characters. These characters stay, one at a time, in these positions:

- U+FE0E or U+FE0F directly after a character that is not ASCII, or within a keycap such as 1️⃣;
- U+200C or U+200D between two characters that are not ASCII.
"""

from __future__ import annotations

import re

# Characters that XML forbids, that a terminal obeys, or that change the reading direction. Tab and newline stay.
_CONTROLS = "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ud800-\udfff\ufffe\uffff"
# Characters without width: tags, joiners, variation selectors, byte order marks.
_NO_WIDTH = "\u034f\u180b-\u180f\u200b-\u200d\u2060-\u2065\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff"
_VISIBLE = f"[^\x00-\xa0{_CONTROLS}{_NO_WIDTH}]"
_ORDINARY = (
    f"(?<={_VISIBLE})[\ufe0e\ufe0f]",
    "(?<=[0-9#*])\ufe0f(?=\u20e3)",
    f"(?<=[^\x00-\xa0{_CONTROLS}])[\u200c\u200d](?={_VISIBLE})",
)
_ANY_UNSEEN = re.compile(f"[{_CONTROLS}{_NO_WIDTH}]")
_UNSEEN = re.compile(f"(?P<ordinary>{'|'.join(_ORDINARY)})|[{_CONTROLS}{_NO_WIDTH}]")


def escape_invisible(text: str) -> str:
    """Return the text with each unseen character written as an escape, such as `\\u200b`."""
    if _ANY_UNSEEN.search(text) is None:
        return text  # nearly every text: this check is quick
    return _UNSEEN.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    if found["ordinary"]:
        return found[0]
    code = ord(found[0])
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
