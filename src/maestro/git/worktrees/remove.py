"""Remove a worktree and its branch, but never uncommitted or unmerged work.

Ignored files are removed with the folder, as by `git worktree remove`: the project itself declares them as no work.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any

import msgspec

from maestro.core import limits
from maestro.core.errors import Conflict, MaestroError, NotFound
from maestro.git import repositories
from maestro.git.worktrees import branches, commands, inspect, records
from maestro.git.worktrees.branches import ListedWorktree


class RemovedWorktree(msgspec.Struct, frozen=True, kw_only=True):
    """A removed worktree. A deleted branch can be made again at `commit`."""

    path: str
    branch: str
    commit: str
    is_branch_deleted: bool


async def remove_worktree(
    repository: str, *, path: str, branch: str, merged_into: str, keep_branch: bool = False
) -> RemovedWorktree:
    """Remove a clean worktree whose branch is contained in `merged_into`, or has no commit beyond its base.

    Otherwise raise a Conflict that lists the work that would be lost. A call completes an interrupted earlier call.
    """
    worktree = await _find_removable(repository, path, branch)
    tips = await branches.branch_tips(repository, branch, merged_into)
    if branch not in tips:
        raise NotFound(f"There is no branch {commands.printable_name(branch)!r} in {repository}.")
    commit = tips[branch]
    base = ""
    lost_work: dict[str, list[str]] = {}
    present = inspect.WorktreeChanges()
    if worktree is not None and Path(path).is_dir():
        git_dir = repositories.worktree_git_dir(path)
        base = records.read_record(git_dir).base
        present = await inspect.read_changes(path)
        lost_work |= _uncommitted_work(present, git_dir)
    target = tips.get(merged_into) or await branches.require_commit(repository, merged_into)
    lost_work |= {"commits": await _unmerged_commits(repository, commit, target, base)}
    _refuse_loss(path, branch, merged_into, lost_work)
    if worktree is not None:
        await _remove_folder(repository, path, present)
    is_deleted = not keep_branch and await branches.delete_branch(repository, branch, at=commit)
    return RemovedWorktree(path=path, branch=branch, commit=commit, is_branch_deleted=is_deleted)


async def _find_removable(repository: str, path: str, branch: str) -> ListedWorktree | None:
    """Return the worktree from git's list; None if only the branch is left. Refuse one that must not be removed."""
    listed = await branches.list_worktrees(repository)
    real_path = os.path.realpath(path)
    worktree = next((entry for entry in listed if os.path.realpath(entry.path) == real_path), None)
    if worktree is None:
        if Path(path).exists():
            raise NotFound(f"{path} is not a worktree of {repository}.")
    elif worktree.is_main:
        raise Conflict(f"{path} is the repository's main checkout.", hint="The main checkout is never removed.")
    elif worktree.is_locked:
        reason = f" ({commands.printable_name(worktree.lock_reason)})" if worktree.lock_reason else ""
        raise Conflict(f"The worktree {path} is locked{reason}.", hint=f"git worktree unlock {path}")
    elif worktree.branch != branch:
        actual = worktree.branch or f"commit {worktree.head}"
        raise Conflict(
            f"The worktree {path} is not on {branch} but on {actual}.",
            hint=f"Find out who uses the worktree, or run: git -C {path} switch {branch}",
        )
    for other in listed:
        if other.branch == branch and (worktree is None or other.path != worktree.path):
            raise Conflict(f"The branch {branch} is checked out at {other.path} too.")
    return worktree


def _uncommitted_work(present: inspect.WorktreeChanges, git_dir: str) -> dict[str, list[str]]:
    operation = inspect.unfinished_operation(git_dir)
    modules = Path(git_dir, "modules")  # the repositories of submodules, with commits that exist only in them
    return {
        "changed": list(map(commands.printable_name, present.changed)),
        "untracked": list(map(commands.printable_name, (*present.untracked, *present.altered))),
        "under way": [operation.value] if operation else [],
        "submodules": [commands.printable_name(module.name) for module in modules.iterdir()]
        if modules.is_dir()
        else [],
    }


async def _unmerged_commits(repository: str, commit: str, target: str, base: str) -> list[str]:
    """Return the commits that only the branch has, each with the first line of its message."""
    if commit in (target, base):
        return []
    if await branches.contains_commit(repository, commit=commit, within=target):
        return []
    if base and await branches.contains_commit(repository, commit=commit, within=base):
        return []
    count = f"--max-count={limits.worktree_names_max}"
    printed = await commands.run_git(
        "log", count, "--format=%h %s", "--no-show-signature", f"{target}..{commit}", cwd=repository
    )
    return [commands.printable_name(line) for line in printed.splitlines()]


def _refuse_loss(path: str, branch: str, merged_into: str, lost_work: dict[str, list[str]]) -> None:
    parts = [f"{name}: {_shorten_list(items)}" for name, items in lost_work.items() if items and name != "commits"]
    if lost_work["commits"]:
        parts.append(f"commits of {branch} that are not in {merged_into}: {_shorten_list(lost_work['commits'])}")
    if not parts:
        return
    data: dict[str, Any] = {name: items[: limits.worktree_names_max] for name, items in lost_work.items() if items}
    raise Conflict(
        f"The worktree {path} is kept, because work would be lost: {'; '.join(parts)}.",
        hint="Commit and merge the work, or discard the work by hand.",
        data=data,
    )


def _shorten_list(items: list[str]) -> str:
    shown = ", ".join(items[: limits.names_in_message_max])
    more = len(items) - limits.names_in_message_max
    return f"{len(items)} ({shown}{f' and {more} more' if more > 0 else ''})"


async def _remove_folder(repository: str, path: str, present: inspect.WorktreeChanges) -> None:
    """Remove the files from the preparation, then the worktree.

    git refuses to remove a worktree with untracked files, and so checks once more that no work is lost.
    """
    if present.restored:
        await commands.run_git("checkout", "--quiet", "HEAD", "--", *present.restored, cwd=path)
    for name in present.copied:
        with contextlib.suppress(FileNotFoundError):
            Path(path, name).unlink()
    try:
        seconds = limits.worktree_checkout_seconds_max
        await commands.run_git_worktree("remove", path, cwd=repository, seconds=seconds)
    except MaestroError as error:
        if commands.exit_code(error) is None:
            raise
        raise Conflict(f"git refuses to remove the worktree {path}.", hint=error.message) from error
