"""Decide whether a session's command may open a file on the caller's machine."""

from __future__ import annotations

import os

from maestro.core import errors
from maestro.domain.callers import Caller
from maestro.domain.client_files import FileAccess, is_in_checkout
from maestro.domain.grants import grant_of
from maestro.domain.members import Permission
from maestro.operations import files as ops
from maestro.store.base import Tx
from maestro.tools import registry


def check_file(tx: Tx, caller: Caller, request: ops.CheckFile) -> ops.CheckedFile:
    """Refuse a file outside the session's checkout. The person and the grant `full` are exempt."""
    allowed = ops.CheckedFile(path=request.path, access=request.access)
    if grant_of(caller) is Permission.FULL:
        return allowed
    directory = _checkout_of(tx, caller)
    if directory and _is_in_checkout(request.path, directory, request.access):
        return allowed
    name, reason = caller.title or caller.name, _refusal_reason(request, directory)
    raise errors.NotPermitted(
        f"Session {name} may not {request.access} {request.path}: {reason}.",
        hint=f"Use another file of the checkout, or ask the person: maestro session grant {caller.name} full",
        data={"path": request.path, "access": request.access, "checkout": directory},
    )


def _refusal_reason(request: ops.CheckFile, directory: str | None) -> str:
    """Return why the session may not use a file."""
    if directory is None:
        return "the session has no checkout"
    if _is_in_checkout(request.path, directory, FileAccess.READ):
        return "the file is in a settings folder of its checkout"
    return f"the file is outside its checkout {directory}"


def _is_in_checkout(path: str, directory: str, access: FileAccess) -> bool:
    return is_in_checkout(path, os.path.realpath(directory), access, tool_folders=registry.SETTINGS_FOLDERS)


def _checkout_of(tx: Tx, caller: Caller) -> str | None:
    """Return the session's own worktree, else the checkout in which the session works."""
    session_id = caller.session_id or ""
    worktree = tx.worktrees.get(session_id)
    if worktree is not None and worktree.removed_at is None:
        return worktree.path
    workspace = tx.projects.get_workspace(caller.workspace_id) if caller.workspace_id else None
    if workspace is not None:
        return workspace.path
    spawn = tx.spawns.get(session_id)
    return spawn.directory if spawn is not None else None
