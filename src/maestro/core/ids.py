"""Create and recognise ids. No other module creates ids.

An id is a prefix for the kind of object, then a UUIDv7 in Crockford's base 32 (26 lower-case letters and digits). Ids
therefore sort by the time of their creation.
"""

from __future__ import annotations

import random
import re
from datetime import datetime
from typing import Literal, get_args

from maestro.core.clock import to_micros

Prefix = Literal[
    "prj", "wsp", "tsk", "doc", "rep", "ses", "msg", "ntf", "att", "mem", "tea", "ask", "psh", "run", "gat"
]

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_PAIRS = [a + b for a in _ALPHABET for b in _ALPHABET]
_EARLIER_PREFIX = "req"  # of asks in earlier versions; their ids stay valid
_SHAPE = re.compile(rf"({'|'.join([*get_args(Prefix), _EARLIER_PREFIX])})_[{_ALPHABET}]{{26}}")


def new_id(prefix: Prefix, at: datetime) -> str:
    """Return a new id for an object created at `at`."""
    millis, micros = divmod(to_micros(at), 1000)
    # An id must be unique, not secret. Random bits of the system would release the
    # interpreter lock, which costs more than the whole id.
    # UUIDv7 allows a fraction of a millisecond: with microseconds, ids of one millisecond sort by time too.
    bits = (millis << 80) | (0x7 << 76) | (micros << 66) | (0b10 << 62) | random.getrandbits(62)
    return f"{prefix}_{_base32(bits)}"


def lowest_id(prefix: Prefix, at: datetime) -> str:
    """Return the lowest possible id of an object created at `at` or later."""
    return f"{prefix}_{_base32((to_micros(at) // 1000) << 80)}"


def is_id(text: str, prefix: Prefix | None = None) -> bool:
    """Return whether a text has the form of an id, with `prefix` if given."""
    found = _SHAPE.fullmatch(text)
    if found is None or prefix is None:
        return found is not None
    return found[1] == prefix or (prefix == "ask" and found[1] == _EARLIER_PREFIX)


def _base32(bits: int) -> str:
    # Two characters per look-up: 13 look-ups instead of 26.
    return "".join([_PAIRS[(bits >> shift) & 1023] for shift in range(120, -1, -10)])
