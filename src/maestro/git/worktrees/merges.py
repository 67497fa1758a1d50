"""Merges a branch into an integration branch: where nobody works, then by moving the ref if it is as it was.

A checkout of that branch comes along, or nothing is merged. No hook runs, and a conflict leaves nothing behind.
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
from maestro.git.worktrees.identities import Author


class Merged(msgspec.Struct, frozen=True, kw_only=True):
    """The integration branch holds all of the branch now."""

    commit: str
    into: str
    previous: str  # where the integration branch was; the same commit when there was nothing new
    checked_out_at: str = ""  # someone has the integration branch there: the files are those of `commit`

    @property
    def is_new(self) -> bool:
        """Whether there was anything to merge."""
        return self.commit != self.previous


class Conflicted(msgspec.Struct, frozen=True, kw_only=True):
    """Nothing was merged: these files clash. Details are given for the first of them."""

    files: tuple[str, ...]
    details: tuple[FileConflict, ...]
    files_total: int
    into: str
    into_commit: str
    branch_commit: str


class Merges:
    """One merge at a time in each repository, whichever of its worktrees it is named by. Made once, passed down."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def merge(
        self, repository: str, *, branch: str, into: str, message: str, author: Author, prefers_own: bool = False
    ) -> Merged | Conflicted:
        """Like `merge`, when its turn has come."""
        async with self.lock(await repositories.common_dir(repository)):
            return await merge(
                repository, branch=branch, into=into, message=message, author=author, prefers_own=prefers_own
            )

    def lock(self, common_dir: str) -> asyncio.Lock:
        """The lock of the repository with this shared directory."""
        return self._locks.setdefault(common_dir, asyncio.Lock())


async def merge(
    repository: str, *, branch: str, into: str, message: str, author: Author, prefers_own: bool = False
) -> Merged | Conflicted:
    """Merge `branch` into the branch `into`, always with a commit of its own, which says what came in.

    When `into` moves meanwhile it is tried again on top of what came. `prefers_own`: if git is configured with an
    identity there, the commit is by that one, and not by `author`.
    """
    _check(message, author)
    for _ in range(limits.merge_tries_max):
        found = await _tried(repository, branch, into, message, None if prefers_own else author, author)
        if found is not None:
            return found
    raise Conflict(
        f"The branch {into} moved {limits.merge_tries_max} times while {branch} was being merged into it.",
        hint="Try again when others are done.",
    )


def _check(message: str, author: Author) -> None:
    if not message.strip() or "\0" in message or len(message) > limits.merge_message_chars_max:
        raise Invalid(f"A merge needs a message of at most {limits.merge_message_chars_max} characters.")
    for text in (author.name, author.email):
        if not text.strip(" .,:;<>\"\\'\n") or "\0" in text or len(text) > limits.author_chars_max:
            raise Invalid(f"{author.name!r} <{author.email!r}> cannot be the author of a commit.")


async def _tried(
    repository: str, branch: str, into: str, message: str, author: Author | None, else_by: Author
) -> Merged | Conflicted | None:
    """One attempt; None when the integration branch moved meanwhile."""
    found = await branches.both(repository, branch, into)
    old, new = found.into, found.branch
    checkout = await checkouts.of_branch(repository, into) if found.is_checked_out else ""
    base = old if old == new else await commands.line("merge-base", old, new, cwd=repository)
    if base is None:
        raise Conflict(f"{branch} and {into} have no commit in common.", hint="They are no branches of one history.")
    if base == new:
        return Merged(commit=old, into=into, previous=old, checked_out_at=checkout)
    config = _identity(author or await identities.identity(repository) or else_by)
    tree = await quick_merges.tree_of(repository, old=old, new=new, base=base)
    if tree is not None:
        commit = await quick_merges.commit(repository, tree, parents=(old, new), message=message, config=config)
    else:
        made = await _in_a_checkout(repository, into, old, new, message, config)
        if isinstance(made, Conflicted):
            return made
        commit = made
    if checkout:
        is_moved = await checkouts.fast_forward(checkout, branch=into, old=old, new=commit)
    else:
        is_moved = await branches.move(repository, into, to=commit, old=old, reason=f"maestro: merge {branch}")
    return Merged(commit=commit, into=into, previous=old, checked_out_at=checkout) if is_moved else None


def _identity(author: Author) -> tuple[str, ...]:
    return tuple(
        f"{who}.{field}={value}"
        for who in ("user", "author", "committer")
        for field, value in (("name", author.name), ("email", author.email))
    )


async def _in_a_checkout(
    repository: str, into: str, old: str, new: str, message: str, config: tuple[str, ...]
) -> str | Conflicted:
    """The merge commit, made where it can be seen what clashes."""
    async with temporary.worktree(repository, at=old) as tree:
        if not await _merged_in(tree, new, message, config):
            return await _conflicted(tree, into=into, into_commit=old, branch_commit=new)
        return (await commands.run("rev-parse", "HEAD", cwd=tree)).strip()


async def _merged_in(tree: str, commit: str, message: str, identity: tuple[str, ...]) -> bool:
    """Make the merge commit in a worktree; False when files clash."""
    words = ("--no-ff", "--no-edit", "--no-stat", "--no-log", "--quiet", "--cleanup=whitespace", "-m", message)
    config = (*temporary.CONFIG, *identity)
    try:
        await commands.run("merge", *words, commit, cwd=tree, seconds=limits.merge_seconds_max, config=config)
    except MaestroError as error:
        if commands.exit_code(error) != 1 or not await conflicts.unmerged(tree):
            raise
        return False
    return True


async def _conflicted(tree: str, *, into: str, into_commit: str, branch_commit: str) -> Conflicted:
    found = await conflicts.unmerged(tree)
    first = found[: limits.conflict_files_max]
    details = await asyncio.to_thread(lambda: tuple(conflicts.described(tree, file) for file in first))
    return Conflicted(
        files=tuple(commands.shown(file.name) for file in found[: limits.worktree_names_max]),
        details=details,
        files_total=len(found),
        into=into,
        into_commit=into_commit,
        branch_commit=branch_commit,
    )
