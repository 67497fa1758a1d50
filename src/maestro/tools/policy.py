"""The policy of a session: which actions are allowed or denied without an ask. Pure, and light enough for runners.

A pattern is matched against the action of a tool call: `shell:git status`, `edit:/path/file`, `tool:NAME`. Patterns
may contain `*`. A file of the workspace also matches by its relative path (`edit:docs/*`).
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from fnmatch import fnmatchcase

ASK, DENY = "ask", "deny"  # the treatment of actions that no pattern allows

SHELL, EDIT = "shell:", "edit:"
_EVERY_SHELL = ("*", "shell:*")
# These characters can join a second command: `git status; rm -r ~` must not match `git *`.
_SHELL_SYNTAX = re.compile(r"[;&|`$<>(){}\n\r\\]")


@dataclass(frozen=True)
class PermissionPolicy:
    """The allowed patterns, and the treatment of all other actions."""

    allow: tuple[str, ...] = ()
    rest: str = ASK
    directory: str = ""  # the workspace

    def decide_actions(self, *actions: str) -> bool | None:
        """Return True if every action is allowed, False if denied, None if the person must be asked."""
        if actions and all(self._is_allowed(action) for action in actions):
            return True
        return False if self.rest == DENY else None

    def _is_allowed(self, action: str) -> bool:
        return any(_is_match(pattern, spelling) for spelling in self._spellings(action) for pattern in self.allow)

    def _spellings(self, action: str) -> tuple[str, ...]:
        """Return the action with a normalised path, absolute and relative: `docs/../.git/config` is not in `docs`."""
        if not action.startswith(EDIT):
            return (action,)
        file = posixpath.normpath(posixpath.join(self.directory, action.removeprefix(EDIT)))
        top = posixpath.join(self.directory, "") if self.directory else ""
        return (EDIT + file, EDIT + file.removeprefix(top)) if file.startswith(top) else (EDIT + file,)


def _is_match(pattern: str, action: str) -> bool:
    if pattern == action:
        return True
    if action.startswith(SHELL) and pattern not in _EVERY_SHELL and _SHELL_SYNTAX.search(action):
        return False
    return fnmatchcase(action, pattern)
