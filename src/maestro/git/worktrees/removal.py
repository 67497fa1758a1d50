"""Removes a worktree and its branch, and only what is safe elsewhere: nothing uncommitted, nothing unmerged.

What git ignores goes with the folder, as with `git worktree remove`: a project says itself that it is not work.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any

import msgspec

from maestro.core import limits
from maestro.core.errors import Conflict, MaestroError, NotFound
from maestro.git.worktrees import branches, changes, commands, listing, records, repositories
from maestro.git.worktrees.listing import Worktree
from maestro.git.worktrees.states import operation_in


class Removed(msgspec.Struct, frozen=True, kw_only=True):
    """What is gone. With its last commit a branch can be made again."""

    path: str
    branch: str
    commit: str
    is_branch_deleted: bool


async def remove(repository: str, *, path: str, branch: str, merged_into: str, keep_branch: bool = False) -> Removed:
    """Remove a clean worktree whose branch is contained in `merged_into`, or never went beyond its base.

    Otherwise a Conflict says what would be lost. What a call that was cut short has left to do is done.
    """
    worktree = await _known(repository, path, branch)
    tips = await branches.tips(repository, branch, merged_into)
    if branch not in tips:
        raise NotFound(f"There is no branch {commands.shown(branch)!r} here.")
    commit = tips[branch]
    base = ""
    lost: dict[str, list[str]] = {}
    found = changes.Changes()
    if worktree is not None and Path(path).is_dir():
        git_dir = await repositories.git_dir(path)
        base = records.read(git_dir).base
        found = await changes.look(path)
        lost |= _uncommitted(found, git_dir)
    target = tips.get(merged_into) or await branches.known_commit(repository, merged_into)
    lost |= {"commits": await _unmerged(repository, commit, target, base)}
    _refuse(path, branch, merged_into, lost)
    if worktree is not None:
        await _taken_away(repository, path, found)
    is_deleted = not keep_branch and await branches.delete(repository, branch, at=commit)
    return Removed(path=path, branch=branch, commit=commit, is_branch_deleted=is_deleted)


async def _known(repository: str, path: str, branch: str) -> Worktree | None:
    """The worktree as git lists it, fit to be removed; None when it is gone and only the branch is left."""
    listed = await listing.list_all(repository)
    wanted = os.path.realpath(path)
    worktree = next((one for one in listed if os.path.realpath(one.path) == wanted), None)
    if worktree is None:
        if Path(path).exists():
            raise NotFound(f"{path} is not a worktree of this repository.")
    elif worktree.is_main:
        raise Conflict(f"{path} is the repository's main checkout.", hint="It is never removed.")
    elif worktree.is_locked:
        reason = f" ({commands.shown(worktree.lock_reason)})" if worktree.lock_reason else ""
        raise Conflict(f"The worktree {path} is locked{reason}.", hint=f"git worktree unlock {path}")
    elif worktree.branch != branch:
        present = worktree.branch or f"commit {worktree.head}"
        raise Conflict(f"The worktree {path} is not on {branch} but on {present}.", hint="Look what it is for.")
    for other in listed:
        if other.branch == branch and (worktree is None or other.path != worktree.path):
            raise Conflict(f"The branch {branch} is checked out at {other.path} too.")
    return worktree


def _uncommitted(found: changes.Changes, git_dir: str) -> dict[str, list[str]]:
    operation = operation_in(git_dir)
    modules = Path(git_dir, "modules")  # with the commits that were made in them
    return {
        "changed": list(map(commands.shown, found.changed)),
        "untracked": list(map(commands.shown, (*found.untracked, *found.altered))),
        "under way": [operation.value] if operation else [],
        "submodules": [commands.shown(one.name) for one in modules.iterdir()] if modules.is_dir() else [],
    }


async def _unmerged(repository: str, commit: str, target: str, base: str) -> list[str]:
    """The commits that only this branch has, each with its first line."""
    if commit in (target, base):
        return []
    if await branches.contains(repository, commit=commit, within=target):
        return []
    if base and await branches.contains(repository, commit=commit, within=base):
        return []
    count = f"--max-count={limits.worktree_names_max}"
    printed = await commands.run(
        "log", count, "--format=%h %s", "--no-show-signature", f"{target}..{commit}", cwd=repository
    )
    return [commands.shown(line) for line in printed.splitlines()]


def _refuse(path: str, branch: str, merged_into: str, lost: dict[str, list[str]]) -> None:
    parts = [f"{name}: {_few(items)}" for name, items in lost.items() if items and name != "commits"]
    if lost["commits"]:
        parts.append(f"commits of {branch} that are not in {merged_into}: {_few(lost['commits'])}")
    if not parts:
        return
    data: dict[str, Any] = {name: items[: limits.worktree_names_max] for name, items in lost.items() if items}
    raise Conflict(
        f"The worktree {path} is kept, for this would be lost: {'; '.join(parts)}.",
        hint="Commit and merge it, or throw it away by hand.",
        data=data,
    )


def _few(items: list[str]) -> str:
    shown = ", ".join(items[: limits.names_in_message_max])
    more = len(items) - limits.names_in_message_max
    return f"{len(items)} ({shown}{f' and {more} more' if more > 0 else ''})"


async def _taken_away(repository: str, path: str, found: changes.Changes) -> None:
    """What came with its preparation first, for git refuses what it does not know; then git looks once more."""
    if found.restored:
        await commands.run("checkout", "--quiet", "HEAD", "--", *found.restored, cwd=path)
    for name in found.copied:
        with contextlib.suppress(FileNotFoundError):
            Path(path, name).unlink()
    try:
        seconds = limits.worktree_checkout_seconds_max
        await commands.worktree("remove", path, cwd=repository, seconds=seconds)
    except MaestroError as error:
        if commands.exit_code(error) is None:
            raise
        raise Conflict(f"git does not remove the worktree {path}.", hint=error.message) from error
