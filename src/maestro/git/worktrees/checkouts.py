"""Move a branch together with its checkout, index and files included, or do not move the branch.

If only the ref moved, the next commit in the checkout would revert the merged changes.
"""

from __future__ import annotations

from pathlib import Path

from maestro.core import limits
from maestro.core.errors import Conflict, MaestroError
from maestro.git.worktrees import branches, commands, listing, repositories


async def checkout_of_branch(repository: str, branch: str) -> str:
    """Return the path of the checkout of a branch; an empty text if the branch is not checked out."""
    worktrees = [
        worktree
        for worktree in await listing.list_worktrees(repository)
        if worktree.branch == branch and not worktree.is_bare
    ]
    paths = [worktree.path for worktree in worktrees if Path(worktree.path).is_dir()]
    if len(paths) > 1:
        raise Conflict(
            f"{branch} is checked out more than once: {', '.join(paths)}.",
            hint=f"Detach one of the checkouts from the branch: git -C {paths[-1]} switch --detach",
        )
    return paths[0] if paths else ""


async def fast_forward(path: str, *, branch: str, old: str, new: str) -> bool:
    """Move a branch and its checkout together. Return False, and change nothing, if the branch is not at `old`.

    Uncommitted changes in the checkout stay. If the new commit touches the same files, a Conflict is raised.
    """
    await repositories.git_dir(path)  # refuse a folder that is no checkout itself: git would use the one around it
    head_ref = await commands.read_line("rev-parse", "--symbolic-full-name", "HEAD", cwd=path)
    if head_ref != f"refs/heads/{branch}" or await branches.branch_tip(path, branch) != old:
        return False
    # Ignored files are in no commit, but may be the only copy of a person's data: never overwrite them.
    options = ("--ff-only", "--no-overwrite-ignore", "--no-stat", "--quiet")
    try:
        seconds = limits.worktree_checkout_seconds_max
        await commands.run_git("merge", *options, new, cwd=path, seconds=seconds, config=("merge.autoStash=false",))
    except MaestroError as error:
        if commands.exit_code(error) is None:
            raise
        if await branches.branch_tip(path, branch) != old:
            return False
        raise await _checkout_conflict(path, branch, old, new, error) from error
    return True


async def _checkout_conflict(path: str, branch: str, old: str, new: str, error: MaestroError) -> Conflict:
    """Return an error that names the uncommitted files that the merge would overwrite."""
    diff_command = ("diff", "--name-only", "--no-ext-diff", "--no-textconv", "-z", old, new)
    merged = set(filter(None, (await commands.run_git(*diff_command, cwd=path)).split("\0")))
    options = ("--no-renames", "--untracked-files=all", "--ignored=matching", "--ignore-submodules=dirty")
    status_command = ("status", "--porcelain", "-z", *options)
    uncommitted = [entry[3:] for entry in (await commands.run_git(*status_command, cwd=path)).split("\0") if entry]
    overwritten = [commands.printable_name(name) for name in uncommitted if name in merged]
    if not overwritten:
        return Conflict(
            f"{branch} is checked out at {path}, and the checkout cannot be updated: {error.message}",
            hint=f"Check the checkout with `git -C {path} status`, then try again.",
            data={"checkout": path},
        )
    more = len(overwritten) - limits.names_in_message_max
    names = ", ".join(overwritten[: limits.names_in_message_max]) + (f" and {more} more" if more > 0 else "")
    return Conflict(
        f"{branch} is checked out at {path}, and the merge would overwrite uncommitted files: {names}.",
        hint=f"Commit the files in {path}, or run `git -C {path} stash --include-untracked`; then try again.",
        data={"checkout": path, "files": overwritten[: limits.worktree_names_max]},
    )
