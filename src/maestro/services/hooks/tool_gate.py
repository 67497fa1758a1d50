"""Decide by the permission level which tool calls need no permission, for programs without a permission dialog."""

from __future__ import annotations

from pathlib import Path

from maestro.domain.members import Permission
from maestro.domain.spawns import Spawn
from maestro.tools import registry
from maestro.tools.hook_dialect import HookEvent, ToolScope
from maestro.tools.policy import PermissionPolicy

# The server itself checks the rights of a session's Maestro commands.
_MAESTRO_COMMANDS = PermissionPolicy(("shell:maestro *",))
_GIT_FOLDER = ".git"
_EDIT = "edit:"


def may_run_unasked(event: HookEvent, spawn: Spawn) -> bool:
    """Return whether a tool call may run without permission of the person."""
    if spawn.permission is Permission.FULL or event.scope is ToolScope.NOTHING:
        return True
    if event.scope is ToolScope.A_FILE and spawn.permission is Permission.EDIT:
        return _is_in_workspace(event.action.removeprefix(_EDIT), spawn.directory, _protected_folders(event.tool))
    return bool(_MAESTRO_COMMANDS.decide_actions(event.action))


def _protected_folders(tool: str) -> frozenset[str]:
    """Return the folders from which git, or the program at its next start, runs commands."""
    return frozenset({_GIT_FOLDER, registry.TOOLS[tool].settings_folder})


def _is_in_workspace(file: str, directory: str, protected: frozenset[str]) -> bool:
    """Return whether a file is in the workspace after links are resolved, and in no protected folder."""
    top = Path(directory).resolve()
    path = (top / file).resolve()
    return bool(file) and path.is_relative_to(top) and protected.isdisjoint(path.relative_to(top).parts)
