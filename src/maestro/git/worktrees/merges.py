"""Merge a branch into an integration branch.

The merge commit is made where no agent and no person works. Then the ref moves, if it is still at the known commit.
A checkout of the integration branch moves with the branch, or the merge is refused. No hook runs, and a conflict
leaves no files behind.
"""

from __future__ import annotations

import asyncio
from weakref import WeakValueDictionary

import msgspec

from maestro.core import limits
from maestro.core.errors import Conflict, Invalid, MaestroError
from maestro.git.worktrees import (
    branches,
    checkouts,
    commands,
    conflicts,
    identities,
    quick_merges,
    repositories,
    temporary,
)
from maestro.git.worktrees.conflicts import FileConflict
from maestro.git.worktrees.identities import CommitAuthor


class Merged(msgspec.Struct, frozen=True, kw_only=True):
    """A completed merge: the integration branch contains the branch."""

    commit: str
    into: str
    previous: str  # the earlier commit of the integration branch; equal to `commit` if the branch had no new commit
    checked_out_at: str = ""  # the checkout of the integration branch, if any: its files are those of `commit`

    @property
    def is_new(self) -> bool:
        """Return whether the branch had new commits to merge."""
        return self.commit != self.previous


class MergeConflict(msgspec.Struct, frozen=True, kw_only=True):
    """A merge that was refused because files conflict, with details about the first files."""

    files: tuple[str, ...]
    details: tuple[FileConflict, ...]
    files_total: int
    into: str
    into_commit: str
    branch_commit: str


class MergeLocks:
    """The locks that allow one merge at a time in each repository and all its worktrees. Made once, passed down."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def merge_in_turn(
        self,
        repository: str,
        *,
        branch: str,
        into: str,
        message: str,
        author: CommitAuthor,
        prefers_own: bool = False,
    ) -> Merged | MergeConflict:
        """Wait for other merges in the repository, then merge."""
        async with self.lock_of(await repositories.common_dir(repository)):
            return await merge_branch(
                repository, branch=branch, into=into, message=message, author=author, prefers_own=prefers_own
            )

    def lock_of(self, common_dir: str) -> asyncio.Lock:
        """Return the lock of the repository with a common directory."""
        return self._locks.setdefault(common_dir, asyncio.Lock())


async def merge_branch(
    repository: str, *, branch: str, into: str, message: str, author: CommitAuthor, prefers_own: bool = False
) -> Merged | MergeConflict:
    """Merge `branch` into the branch `into`, always with a merge commit, whose message names the merged work.

    When `into` moves meanwhile, the merge is attempted again on the new commit. `prefers_own`: the author that git is
    configured with in the repository, if any, takes precedence over `author`.
    """
    _check_commit(message, author)
    for _ in range(limits.merge_attempts_max):
        result = await _attempt_merge(repository, branch, into, message, None if prefers_own else author, author)
        if result is not None:
            return result
    raise Conflict(
        f"The branch {into} moved {limits.merge_attempts_max} times while {branch} was being merged into it.",
        hint=f"Try again when no other process commits to {into}.",
    )


def _check_commit(message: str, author: CommitAuthor) -> None:
    if not message.strip() or "\0" in message or len(message) > limits.merge_message_chars_max:
        raise Invalid(f"A merge needs a message of at most {limits.merge_message_chars_max} characters.")
    for text in (author.name, author.email):
        if not text.strip(" .,:;<>\"\\'\n") or "\0" in text or len(text) > limits.author_chars_max:
            raise Invalid(f"{author.name!r} <{author.email!r}> cannot be the author of a commit.")


async def _attempt_merge(
    repository: str, branch: str, into: str, message: str, author: CommitAuthor | None, default_author: CommitAuthor
) -> Merged | MergeConflict | None:
    """Attempt a merge. Return None if the integration branch moved meanwhile."""
    tips = await branches.merge_tips(repository, branch, into)
    old, new = tips.into, tips.branch
    checkout = await checkouts.checkout_of_branch(repository, into) if tips.is_checked_out else ""
    base = old if old == new else await commands.read_line("merge-base", old, new, cwd=repository)
    if base is None:
        raise Conflict(
            f"{branch} and {into} have no commit in common.", hint="Only branches of one history can be merged."
        )
    if base == new:
        return Merged(commit=old, into=into, previous=old, checked_out_at=checkout)
    config = _author_settings(author or await identities.configured_author(repository) or default_author)
    tree = await quick_merges.merge_trees(repository, old=old, new=new, base=base)
    if tree is not None:
        commit = await quick_merges.make_commit(repository, tree, parents=(old, new), message=message, config=config)
    else:
        result = await _merge_in_worktree(repository, into, old, new, message, config)
        if isinstance(result, MergeConflict):
            return result
        commit = result
    if checkout:
        is_moved = await checkouts.fast_forward(checkout, branch=into, old=old, new=commit)
    else:
        is_moved = await branches.move_branch(repository, into, to=commit, old=old, reason=f"maestro: merge {branch}")
    return Merged(commit=commit, into=into, previous=old, checked_out_at=checkout) if is_moved else None


def _author_settings(author: CommitAuthor) -> tuple[str, ...]:
    return tuple(
        f"{section}.{field}={value}"
        for section in ("user", "author", "committer")
        for field, value in (("name", author.name), ("email", author.email))
    )


async def _merge_in_worktree(
    repository: str, into: str, old: str, new: str, message: str, config: tuple[str, ...]
) -> str | MergeConflict:
    """Merge in a temporary worktree, where conflicts can be read. Return the merge commit or the conflicts."""
    async with temporary.temporary_worktree(repository, at=old) as tree:
        if not await _make_merge_commit(tree, new, message, config):
            return await _read_conflicts(tree, into=into, into_commit=old, branch_commit=new)
        return (await commands.run_git("rev-parse", "HEAD", cwd=tree)).strip()


async def _make_merge_commit(tree: str, commit: str, message: str, author_settings: tuple[str, ...]) -> bool:
    """Make the merge commit in a worktree. Return False if files conflict."""
    options = ("--no-ff", "--no-edit", "--no-stat", "--no-log", "--quiet", "--cleanup=whitespace", "-m", message)
    config = (*temporary.MERGE_SETTINGS, *author_settings)
    try:
        await commands.run_git("merge", *options, commit, cwd=tree, seconds=limits.merge_seconds_max, config=config)
    except MaestroError as error:
        if commands.exit_code(error) != 1 or not await conflicts.list_unmerged(tree):
            raise
        return False
    return True


async def _read_conflicts(tree: str, *, into: str, into_commit: str, branch_commit: str) -> MergeConflict:
    unmerged = await conflicts.list_unmerged(tree)
    first = unmerged[: limits.conflict_files_max]
    details = await asyncio.to_thread(lambda: tuple(conflicts.describe_conflict(tree, file) for file in first))
    return MergeConflict(
        files=tuple(commands.printable_name(file.name) for file in unmerged[: limits.worktree_names_max]),
        details=details,
        files_total=len(unmerged),
        into=into,
        into_commit=into_commit,
        branch_commit=branch_commit,
    )
