"""Typed, prefixed, sortable ids, made here and nowhere else.

An id is a prefix that says what it names and a UUIDv7 in Crockford's base 32 (26 lower-case letters and
digits), so that ids sort by the time they were made.
"""

from __future__ import annotations

import random
import re
from datetime import datetime
from typing import Literal, get_args

from maestro.core.clock import to_micros

Prefix = Literal["prj", "wsp", "tsk", "doc", "rep", "ses", "msg", "att", "mem", "tea", "req", "run", "gat"]

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_PAIRS = [a + b for a in _ALPHABET for b in _ALPHABET]
_SHAPE = re.compile(rf"({'|'.join(get_args(Prefix))})_[{_ALPHABET}]{{26}}")


def new(prefix: Prefix, at: datetime) -> str:
    """A fresh id for something made at `at`."""
    millis, micros = divmod(to_micros(at), 1000)
    # An id need not be secret, only unlike all others: and asking the system would let go of the interpreter.
    # The microseconds stand where UUIDv7 allows a fraction, so that ids of one millisecond sort by time too.
    bits = (millis << 80) | (0x7 << 76) | (micros << 66) | (0b10 << 62) | random.getrandbits(62)
    return f"{prefix}_{_base32(bits)}"


def first(prefix: Prefix, at: datetime) -> str:
    """Return the lowest id that something made at `at` or later can have."""
    return f"{prefix}_{_base32((to_micros(at) // 1000) << 80)}"


def is_id(text: str, prefix: Prefix | None = None) -> bool:
    """Whether `text` has the shape of an id (of this kind)."""
    found = _SHAPE.fullmatch(text)
    return found is not None and (prefix is None or found[1] == prefix)


def _base32(bits: int) -> str:
    # Two letters at a time: 13 look-ups instead of 26.
    return "".join([_PAIRS[(bits >> shift) & 1023] for shift in range(120, -1, -10)])
