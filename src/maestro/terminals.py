"""What a terminal showed, as plain text: without what moves its cursor or changes its colours."""

from __future__ import annotations

import re

_SEQUENCES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-_])")


def plain(text: str) -> str:
    """The text alone, its lines ended as usual."""
    return _SEQUENCES.sub("", text).replace("\r\n", "\n")
