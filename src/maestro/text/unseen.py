"""Spells out the characters that a reader does not see: controls, reading direction, tags, joiners, selectors.

A model reads them, and a person does not, so they could carry a hidden message. Emoji and some scripts need three of
them. These stay, one at a time, where they belong:

- U+FE0E or U+FE0F directly after a character that is not ASCII, or within a keycap such as 1️⃣;
- U+200C or U+200D between two characters that are not ASCII.
"""

from __future__ import annotations

import re

# What XML forbids, what a terminal obeys, what turns the reading direction. Tab and newline stay.
_CONTROLS = "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ud800-\udfff\ufffe\uffff"
# What takes no room: tags, joiners, selectors of variants, marks of the byte order.
_NO_WIDTH = "\u034f\u180b-\u180f\u200b-\u200d\u2060-\u2065\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff"
_SHOWN = f"[^\x00-\xa0{_CONTROLS}{_NO_WIDTH}]"
_ORDINARY = (
    f"(?<={_SHOWN})[\ufe0e\ufe0f]",
    "(?<=[0-9#*])\ufe0f(?=\u20e3)",
    f"(?<=[^\x00-\xa0{_CONTROLS}])[\u200c\u200d](?={_SHOWN})",
)
_ANY_UNSEEN = re.compile(f"[{_CONTROLS}{_NO_WIDTH}]")
_UNSEEN = re.compile(f"(?P<ordinary>{'|'.join(_ORDINARY)})|[{_CONTROLS}{_NO_WIDTH}]")


def spell_out(text: str) -> str:
    """Return the text with each unseen character written as an escape, such as `\\u200b`."""
    if _ANY_UNSEEN.search(text) is None:
        return text  # nearly every text, and found out quickly
    return _UNSEEN.sub(_spelled, text)


def _spelled(found: re.Match[str]) -> str:
    if found["ordinary"]:
        return found[0]
    code = ord(found[0])
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
