"""Which `bd` one has met, and what that changes. Every project may have another one. Pure."""

from __future__ import annotations

import re

import msgspec

OLDEST = (0, 20)
_VERSION = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?")


class Generation(msgspec.Struct, frozen=True):
    """A version of `bd`, and what can be relied on with it."""

    version: tuple[int, int, int]

    @property
    def counts_comments(self) -> bool:
        """Whether `bd list` tells how many comments each issue has; before, only a look tells."""
        return self.version >= (0, 50, 0)

    def __str__(self) -> str:
        return ".".join(map(str, self.version))


def generation(text: str) -> Generation | None:
    """From what `bd version` prints: `bd version 0.50.3 (dev)`, or JSON with a version in it."""
    found = _VERSION.search(text)
    if found is None:
        return None
    major, minor, patch = (int(part or 0) for part in found.groups())
    return Generation((major, minor, patch))


def is_too_old(found: Generation) -> bool:
    """Before comments and JSON everywhere there is nothing to work with."""
    return found.version[:2] < OLDEST
