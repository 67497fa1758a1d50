"""Decide by the permission level which tool calls need no permission, for programs without a permission dialog."""

from __future__ import annotations

from pathlib import Path

from maestro.domain.members import Permission
from maestro.domain.spawns import Spawn
from maestro.tools.hook_dialect import HookEvent, ToolScope
from maestro.tools.policy import PermissionPolicy

# The server itself checks the rights of a session's Maestro commands.
_MAESTRO_COMMANDS = PermissionPolicy(("shell:maestro *",))
# git, or the program at the next start, runs commands from these folders.
_PROTECTED_FOLDERS = frozenset({".git", ".gemini"})
_EDIT = "edit:"


def may_run_unasked(event: HookEvent, spawn: Spawn) -> bool:
    """Return whether a tool call may run without permission of the person."""
    if spawn.permission is Permission.FULL or event.scope is ToolScope.NOTHING:
        return True
    if event.scope is ToolScope.A_FILE and spawn.permission is Permission.EDIT:
        return _is_in_workspace(event.action.removeprefix(_EDIT), spawn.directory)
    return bool(_MAESTRO_COMMANDS.decide_actions(event.action))


def _is_in_workspace(file: str, directory: str) -> bool:
    """Return whether a file is in the workspace after links are resolved, and in no protected folder."""
    top = Path(directory).resolve()
    path = (top / file).resolve()
    return bool(file) and path.is_relative_to(top) and _PROTECTED_FOLDERS.isdisjoint(path.relative_to(top).parts)
