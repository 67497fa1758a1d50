"""Check that all work of a worktree is on the branch that is to be merged. Other work would silently be left out."""

from __future__ import annotations

from pathlib import Path

from maestro.core import limits
from maestro.core.errors import MaestroError, NotFound
from maestro.git.worktrees import branches, changes, commands, repositories
from maestro.git.worktrees.states import unfinished_operation


async def find_unmerged_work(repository: str, *, path: str, branch: str) -> str:
    """Return why a worktree holds work that is not on its branch; an empty text if all work is on the branch."""
    try:
        git_dir = await repositories.git_dir(path)
        present = await changes.read_changes(path)
    except (MaestroError, OSError) as error:
        if Path(path).is_dir() and not isinstance(error, NotFound):
            raise
        return f"the worktree is gone: {path}. Only the commits on {branch} are left."
    if present.work:
        return f"uncommitted: {_shorten_list(present.work)}. Commit the files on {branch}, or discard them."
    operation = unfinished_operation(git_dir)
    if operation:
        name = operation.value
        return f"a {name} is under way in {path}. Finish the {name}, or run: git {name} --abort"
    if present.branch != branch and await is_elsewhere(repository, present.head, branch):
        location = f"on {present.branch}" if present.branch else f"at {present.head[:12]}, without a branch"
        return (
            f"committed elsewhere: {location}. Only commits on {branch} are merged: "
            f"run git switch {branch}, then git merge"
        )
    return ""


async def is_elsewhere(repository: str, head: str, branch: str) -> bool:
    """Return whether a commit is not contained in a branch."""
    tip = await branches.branch_tip(repository, branch)
    return bool(head) and (tip is None or not await branches.contains_commit(repository, commit=head, within=tip))


def _shorten_list(names: tuple[str, ...]) -> str:
    more = len(names) - limits.names_in_message_max
    shown = ", ".join(commands.printable_name(name) for name in names[: limits.names_in_message_max])
    return f"{shown} and {more} more" if more > 0 else shown
