"""Branches, and the worktrees that git lists with them.

A branch is created, moved or deleted only if it still points at the known commit. A branch that is checked out moves
together with its checkout, index and files included. If only the ref moved, the next commit in the checkout would
revert the merged changes.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import msgspec

from maestro.core import limits
from maestro.core.errors import Conflict, Invalid, MaestroError, NameTaken, NotFound
from maestro.git import repositories
from maestro.git.worktrees import commands
from maestro.system import small_files

_HEADS = "refs/heads/"


async def ensure_branch(repository: str, name: str, at: str) -> str:
    """Return the commit of a branch. Create a missing branch at the commit or branch `at`."""
    existing = await branch_tip(repository, name)
    if existing is not None:
        return existing
    commit = await require_commit(repository, at)
    try:
        await create_branch(repository, name, at=commit)
    except NameTaken:
        existing = await branch_tip(repository, name)  # another process was faster
        if existing is None:
            raise
        return existing
    return commit


async def require_commit(repository: str, name: str | None) -> str:
    """Return the commit of a branch or of any other name; the commit of HEAD for None. Refuse an unknown name."""
    if name is None:
        commit = await _find_commit(repository, "HEAD")
        if commit is None:
            raise Conflict(
                f"The repository {repository} has no commit yet.",
                hint="Make a first commit (git add -A, git commit -m first); then try again.",
            )
        return commit
    # A branch comes before a tag of the same name.
    commit = await branch_tip(repository, name) or await _find_commit(repository, name)
    if commit is None:
        raise NotFound(f"There is no commit or branch {commands.printable_name(name)!r} in {repository}.")
    return commit


async def branch_tip(repository: str, branch: str) -> str | None:
    """Return the commit that a branch points at; None if the branch does not exist."""
    return await _find_commit(repository, _HEADS + branch)


async def branch_tips(repository: str, *names: str) -> dict[str, str]:
    """Return the commits of the existing branches among `names`, with a single git command."""
    if not names:
        return {}
    refs = [_HEADS + name for name in names]
    printed = await commands.run_git("for-each-ref", "--format=%(objectname) %(refname)", *refs, cwd=repository)
    commits = {ref: commit for commit, _, ref in (line.partition(" ") for line in printed.splitlines())}
    return {name: commits[_HEADS + name] for name in names if _HEADS + name in commits}


class MergeTips(msgspec.Struct, frozen=True):
    """The commits of the two branches of a merge, and whether the branch `into` is checked out in a worktree."""

    branch: str
    into: str
    is_checked_out: bool


async def merge_tips(repository: str, branch: str, into: str) -> MergeTips:
    """Return the commits of the two branches of a merge, with a single git command. Refuse a missing branch."""
    refs = [_HEADS + branch, _HEADS + into]
    arguments = ("--format=%(refname) %(objectname) %(worktreepath)", *refs)
    lines = (await commands.run_git("for-each-ref", *arguments, cwd=repository)).splitlines()
    facts_by_ref = {ref: facts.partition(" ") for ref, _, facts in (line.partition(" ") for line in lines)}
    for name in (branch, into):
        if _HEADS + name not in facts_by_ref:
            raise NotFound(f"There is no branch {commands.printable_name(name)!r} in {repository}.")
    (new, _, _), (old, _, worktree_path) = facts_by_ref[_HEADS + branch], facts_by_ref[_HEADS + into]
    return MergeTips(new, old, bool(worktree_path))


async def contains_commit(repository: str, *, commit: str, within: str) -> bool:
    """Return whether the commit `within` contains the commit `commit`."""
    return await commands.run_predicate("merge-base", "--is-ancestor", commit, within, cwd=repository)


async def create_branch(repository: str, name: str, *, at: str) -> None:
    """Create a branch at a commit. Refuse an invalid name, and a name that an existing branch makes impossible."""
    if name.startswith("-") or name == "HEAD" or "\0" in name:
        raise _invalid_name(name)
    try:
        # The empty old value means: the ref must not exist.
        await _update_ref(repository, "-m", "maestro: made", _HEADS + name, at, "")
    except MaestroError:
        existing = await _conflicting_branch(repository, _HEADS + name)
        if existing is None:
            await _check_name(repository, name)
            raise
        raise NameTaken(f"There is a branch {existing} already.", hint="Choose another name.") from None


async def move_branch(repository: str, name: str, *, to: str, old: str, reason: str) -> bool:
    """Move a branch to another commit. Return False, and change nothing, if the branch is no longer at `old`."""
    try:
        await _update_ref(repository, "-m", reason, _HEADS + name, to, old)
    except MaestroError:
        if await branch_tip(repository, name) == old:
            raise
        return False
    return True


async def delete_branch(repository: str, name: str, *, at: str) -> bool:
    """Delete a branch. Return False, and change nothing, if the branch is no longer at `at`."""
    try:
        await _update_ref(repository, "-d", _HEADS + name, at)
    except MaestroError:
        if await branch_tip(repository, name) == at:
            raise
        return False
    config = small_files.read_small(str(Path(repositories.common_dir(repository), "config")))
    if config is None or b"[branch " in config:  # most repositories have no settings for a branch
        with contextlib.suppress(MaestroError):
            await commands.run_git("config", "--local", "--remove-section", f"branch.{name}", cwd=repository)
    return True


async def _find_commit(repository: str, name: str) -> str | None:
    if name.startswith("-") or "\0" in name:
        return None
    return await commands.read_line("rev-parse", "--verify", "--quiet", name + "^{commit}", cwd=repository)


async def _check_name(repository: str, name: str) -> None:
    if not await commands.run_predicate("check-ref-format", _HEADS + name, cwd=repository):
        raise _invalid_name(name)


def _invalid_name(name: str) -> Invalid:
    return Invalid(f"{commands.printable_name(name)!r} is not a valid name of a branch.")


async def _update_ref(repository: str, *arguments: str) -> None:
    await commands.run_git("update-ref", *arguments, cwd=repository)


async def _conflicting_branch(repository: str, ref: str) -> str | None:
    """Return the branch that prevents the creation of a ref: with the same name, above the name or below it."""
    parts = ref.split("/")
    prefixes = ["/".join(parts[:length]) for length in range(3, len(parts) + 1)]
    printed = await commands.run_git("for-each-ref", "--format=%(refname)", *prefixes, cwd=repository)
    for existing in printed.splitlines():
        if existing == ref or existing.startswith(ref + "/") or ref.startswith(existing + "/"):
            return commands.printable_name(existing.removeprefix(_HEADS))
    return None


class ListedWorktree(msgspec.Struct, frozen=True, kw_only=True):
    """A worktree in git's list."""

    path: str
    head: str = ""  # empty in a bare repository
    branch: str = ""  # empty when a commit is checked out without a branch
    is_main: bool = False
    is_bare: bool = False
    is_locked: bool = False
    lock_reason: str = ""
    is_prunable: bool = False  # the folder is gone


async def list_worktrees(repository: str) -> tuple[ListedWorktree, ...]:
    """Return all worktrees that git knows, the main checkout first."""
    blocks = [block for block in (await _run_list(repository)).split("\0\0") if block]
    return tuple(_parse_worktree(block.split("\0"), is_main=number == 0) for number, block in enumerate(blocks))


async def find_worktree(repository: str, path: str) -> ListedWorktree | None:
    """Return the worktree that git knows at a path."""
    real_path = os.path.realpath(path)
    listed = await list_worktrees(repository)
    return next((worktree for worktree in listed if os.path.realpath(worktree.path) == real_path), None)


async def _run_list(repository: str) -> str:
    try:
        return await commands.run_git_worktree("list", "--porcelain", "-z", cwd=repository)
    except MaestroError as error:
        if commands.exit_code(error) != 129:
            raise
    # git before 2.36 does not know -z, and cannot list a path with a line break correctly.
    return (await commands.run_git_worktree("list", "--porcelain", cwd=repository)).replace("\n", "\0")


def _parse_worktree(lines: list[str], *, is_main: bool) -> ListedWorktree:
    facts = {name: value for name, _, value in (line.partition(" ") for line in lines)}
    head = facts.get("HEAD", "")
    return ListedWorktree(
        path=facts["worktree"],
        head=head if head.strip("0") else "",
        branch=facts.get("branch", "").removeprefix("refs/heads/"),
        is_main=is_main,
        is_bare="bare" in facts,
        is_locked="locked" in facts,
        lock_reason=facts.get("locked", ""),
        is_prunable="prunable" in facts,
    )


async def checkout_of_branch(repository: str, branch: str) -> str:
    """Return the path of the checkout of a branch; an empty text if the branch is not checked out."""
    worktrees = [
        worktree
        for worktree in await list_worktrees(repository)
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
    repositories.worktree_git_dir(path)  # refuse a folder that is no checkout itself: git would use the one around it
    head_ref = await commands.read_line("rev-parse", "--symbolic-full-name", "HEAD", cwd=path)
    if head_ref != f"refs/heads/{branch}" or await branch_tip(path, branch) != old:
        return False
    # Ignored files are in no commit, but may be the only copy of a person's data: never overwrite them.
    options = ("--ff-only", "--no-overwrite-ignore", "--no-stat", "--quiet")
    try:
        seconds = limits.worktree_checkout_seconds_max
        await commands.run_git("merge", *options, new, cwd=path, seconds=seconds, config=("merge.autoStash=false",))
    except MaestroError as error:
        if commands.exit_code(error) is None:
            raise
        if await branch_tip(path, branch) != old:
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
