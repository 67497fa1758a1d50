"""Recognise the version of `bd`, and what this version can do. Each project may use another version. Pure."""

from __future__ import annotations

import re

import msgspec

OLDEST = (0, 20)
_VERSION = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?")


class Generation(msgspec.Struct, frozen=True):
    """A version of `bd` and its abilities."""

    version: tuple[int, int, int]

    @property
    def counts_comments(self) -> bool:
        """Return whether `bd list` shows the number of comments; in older versions only `bd show` does."""
        return self.version >= (0, 50, 0)

    def __str__(self) -> str:
        return ".".join(map(str, self.version))


def parse_generation(text: str) -> Generation | None:
    """Read the version from the output of `bd version`: `bd version 0.50.3 (dev)`, or JSON with a version."""
    match = _VERSION.search(text)
    if match is None:
        return None
    major, minor, patch = (int(part or 0) for part in match.groups())
    return Generation((major, minor, patch))


def is_too_old(generation: Generation) -> bool:
    """Return whether the version lacks comments or JSON output, which Maestro needs."""
    return generation.version[:2] < OLDEST
