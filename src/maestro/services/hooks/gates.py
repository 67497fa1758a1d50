"""Whether a tool call may be made unasked, by an agent whose program asks nobody: its permission level says it."""

from __future__ import annotations

from pathlib import Path

from maestro.domain.members import Permission
from maestro.domain.spawns import Spawn
from maestro.tools.hooks.base import Happening, Touch
from maestro.tools.policy import Policy

# What a session may do at Maestro, the server decides.
_OURS = Policy(("shell:maestro *",))
# What stands there is carried out by git, or by the program itself at its next start.
_APART = frozenset({".git", ".gemini"})
_EDIT = "edit:"


def is_free(happening: Happening, spawn: Spawn) -> bool:
    """Whether nobody need be asked."""
    if spawn.permission is Permission.FULL or happening.touch is Touch.NOTHING:
        return True
    if happening.touch is Touch.A_FILE and spawn.permission is Permission.EDIT:
        return _is_in(happening.action.removeprefix(_EDIT), spawn.directory)
    return bool(_OURS.decide(happening.action))


def _is_in(file: str, directory: str) -> bool:
    """Whether a file is one of the workspace's, links followed."""
    top = Path(directory).resolve()
    path = (top / file).resolve()
    return bool(file) and path.is_relative_to(top) and _APART.isdisjoint(path.relative_to(top).parts)
