"""Which permissions an agent gets without anybody being asked. Pure, and light enough for runners.

A pattern is matched against what would be done: `shell:git status`, `edit:/path/file`, `tool:NAME`. It may hold `*`.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from fnmatch import fnmatchcase

ASK, DENY = "ask", "deny"  # what becomes of what no pattern allows

SHELL, EDIT = "shell:", "edit:"
_EVERY_SHELL = ("*", "shell:*")
# With one of these a command can be more than it begins with: `git status; rm -r ~` is no `git *`.
_MORE = re.compile(r"[;&|`$<>(){}\n\r\\]")


@dataclass(frozen=True)
class Policy:
    """What is allowed, and what becomes of the rest."""

    allow: tuple[str, ...] = ()
    rest: str = ASK

    def decide(self, action: str) -> bool | None:
        """Allowed, denied, or None: someone is to be asked."""
        action = _plain(action)
        if any(_matches(pattern, action) for pattern in self.allow):
            return True
        return False if self.rest == DENY else None


def _plain(action: str) -> str:
    """A file by its own name: `docs/../.git/config` is none of `docs`."""
    return EDIT + posixpath.normpath(action.removeprefix(EDIT)) if action.startswith(EDIT) else action


def _matches(pattern: str, action: str) -> bool:
    if pattern == action:
        return True
    if action.startswith(SHELL) and pattern not in _EVERY_SHELL and _MORE.search(action):
        return False
    return fnmatchcase(action, pattern)
