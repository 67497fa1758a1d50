"""Whether all of somebody's work is on the branch that is to be merged: what is not there would count as done."""

from __future__ import annotations

from pathlib import Path

from maestro.core import limits
from maestro.core.errors import MaestroError, NotFound
from maestro.git.worktrees import branches, changes, commands, repositories
from maestro.git.worktrees.states import operation_in


async def loose_ends(repository: str, *, path: str, branch: str) -> str:
    """Why the work in a worktree cannot be taken for what is on its branch; empty if it can."""
    try:
        git_dir = await repositories.git_dir(path)
        found = await changes.look(path)
    except (MaestroError, OSError) as error:
        if Path(path).is_dir() and not isinstance(error, NotFound):
            raise
        return f"the worktree is gone: {path}. Only what was committed on {branch} is left."
    if found.work:
        return f"uncommitted: {_few(found.work)}. Commit it on {branch}, or throw it away."
    operation = operation_in(git_dir)
    if operation:
        return f"a {operation.value} is under way in {path}. Finish it, or: git {operation.value} --abort"
    if found.branch != branch and await is_elsewhere(repository, found.head, branch):
        where = f"on {found.branch}" if found.branch else f"at {found.head[:12]}, without a branch"
        return f"committed elsewhere: {where}. What is to count must be on {branch}: git switch {branch}, git merge"
    return ""


async def is_elsewhere(repository: str, head: str, branch: str) -> bool:
    """Whether a commit holds anything that a branch does not."""
    tip = await branches.tip(repository, branch)
    return bool(head) and (tip is None or not await branches.contains(repository, commit=head, within=tip))


def _few(names: tuple[str, ...]) -> str:
    more = len(names) - limits.names_in_message_max
    shown = ", ".join(commands.shown(name) for name in names[: limits.names_in_message_max])
    return f"{shown} and {more} more" if more > 0 else shown
