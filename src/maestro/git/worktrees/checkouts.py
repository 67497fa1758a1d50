"""Somebody's checkout of a branch that is to move: it comes along, index and files, or the branch stays.

If only the ref moved, the next commit made in the checkout would take back all that came.
"""

from __future__ import annotations

from pathlib import Path

from maestro.core import limits
from maestro.core.errors import Conflict, MaestroError
from maestro.git.worktrees import branches, commands, listing, repositories


async def of_branch(repository: str, branch: str) -> str:
    """Where a branch is checked out; empty for nowhere."""
    listed = await listing.list_all(repository)
    places = [one.path for one in listed if one.branch == branch and not one.is_bare and Path(one.path).is_dir()]
    if len(places) > 1:
        raise Conflict(
            f"{branch} is checked out more than once: {', '.join(places)}.",
            hint=f"Let one of them have another branch: git -C {places[-1]} switch --detach",
        )
    return places[0] if places else ""


async def fast_forward(path: str, *, branch: str, old: str, new: str) -> bool:
    """Move a branch and the checkout of it together; False, and nothing is done, if it is no longer at `old`.

    What is changed there stays as it is; if the new commit touches the same files, a Conflict says so.
    """
    await repositories.git_dir(path)  # not the checkout around a folder that is none itself
    there = await commands.line("rev-parse", "--symbolic-full-name", "HEAD", cwd=path)
    if there != f"refs/heads/{branch}" or await branches.tip(path, branch) != old:
        return False
    # Files that git ignores are nobody's commit, but may be somebody's only copy.
    words = ("--ff-only", "--no-overwrite-ignore", "--no-stat", "--quiet")
    try:
        seconds = limits.worktree_checkout_seconds_max
        await commands.run("merge", *words, new, cwd=path, seconds=seconds, config=("merge.autoStash=false",))
    except MaestroError as error:
        if commands.exit_code(error) is None:
            raise
        if await branches.tip(path, branch) != old:
            return False
        raise await _refusal(path, branch, old, new, error) from error
    return True


async def _refusal(path: str, branch: str, old: str, new: str, error: MaestroError) -> Conflict:
    compare = ("diff", "--name-only", "--no-ext-diff", "--no-textconv", "-z", old, new)
    touched = set(filter(None, (await commands.run(*compare, cwd=path)).split("\0")))
    looks = ("--no-renames", "--untracked-files=all", "--ignored=matching", "--ignore-submodules=dirty")
    words = ("status", "--porcelain", "-z", *looks)
    changed = [entry[3:] for entry in (await commands.run(*words, cwd=path)).split("\0") if entry]
    both = [commands.shown(name) for name in changed if name in touched]
    if not both:
        return Conflict(
            f"{branch} is checked out at {path} and cannot be brought up to date there: {error.message}",
            hint=f"Look: git -C {path} status; then try again.",
            data={"checkout": path},
        )
    more = len(both) - limits.names_in_message_max
    names = ", ".join(both[: limits.names_in_message_max]) + (f" and {more} more" if more > 0 else "")
    return Conflict(
        f"{branch} is checked out at {path}, where the merge would write over what is not committed: {names}.",
        hint=f"Commit it there, or: git -C {path} stash --include-untracked; then try again.",
        data={"checkout": path, "files": both[: limits.worktree_names_max]},
    )
