"""Which permissions an agent gets without anybody being asked. Pure, and light enough for runners.

A pattern is matched against what would be done: `shell:git status`, `edit:/path/file`, `tool:NAME`. It may hold `*`.
One of the workspace's files is matched by its place there too (`edit:docs/*`).
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
    directory: str = ""  # the workspace

    def decide(self, *actions: str) -> bool | None:
        """Allowed, which all of them must be; denied; or None: someone is to be asked."""
        if actions and all(self._allows(action) for action in actions):
            return True
        return False if self.rest == DENY else None

    def _allows(self, action: str) -> bool:
        return any(_matches(pattern, name) for name in self._names(action) for pattern in self.allow)

    def _names(self, action: str) -> tuple[str, ...]:
        """A file by its own name: `docs/../.git/config` is none of `docs`."""
        if not action.startswith(EDIT):
            return (action,)
        file = posixpath.normpath(posixpath.join(self.directory, action.removeprefix(EDIT)))
        top = posixpath.join(self.directory, "") if self.directory else ""
        return (EDIT + file, EDIT + file.removeprefix(top)) if file.startswith(top) else (EDIT + file,)


def _matches(pattern: str, action: str) -> bool:
    if pattern == action:
        return True
    if action.startswith(SHELL) and pattern not in _EVERY_SHELL and _MORE.search(action):
        return False
    return fnmatchcase(action, pattern)
