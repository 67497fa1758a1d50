"""Merge a branch into an integration branch.

The merge commit is made where no agent and no person works: from the trees alone if no file conflicts, else in a
temporary worktree. Then the ref moves, if it is still at the known commit. A checkout of the integration branch moves
with the branch, or the merge is refused. No hook runs, and a conflict leaves no files behind.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from weakref import WeakValueDictionary

import msgspec

from maestro.core import limits
from maestro.core.errors import Conflict, Invalid, MaestroError
from maestro.git import repositories
from maestro.git.worktrees import branches, commands, create
from maestro.system import small_files

_ATTRIBUTES = ".gitattributes"
# By the versions that git kept: 1 is the common version, 2 the integration branch's, 3 the merged branch's.
_KINDS = {
    "123": "changed on both sides",
    "23": "added on both sides",
    "12": "deleted in the branch, changed in the integration branch",
    "13": "changed in the branch, deleted in the integration branch",
    "1": "renamed or deleted on both sides",
    "2": "the branch has another file or folder at this path",
    "3": "the integration branch has another file or folder at this path",
}
_LINK, _SUBMODULE = "120000", "160000"


class CommitAuthor(msgspec.Struct, frozen=True):
    """The author of a merge commit."""

    name: str
    email: str


async def configured_author(repository: str) -> CommitAuthor | None:
    """Return the configured author of a repository; None if no author is configured. Git's guesses do not count."""
    pattern = r"^(user|author)\.(name|email)$"
    try:
        printed = await commands.run_git("config", "--null", "--get-regexp", pattern, cwd=repository)
    except MaestroError as error:
        if commands.exit_code(error) == 1:
            return None
        raise
    # Later entries come from files that take precedence. Keys are in lower case.
    settings = dict(entry.split("\n", 1) for entry in printed.split("\0") if "\n" in entry)
    name = settings.get("author.name") or settings.get("user.name") or ""
    email = settings.get("author.email") or settings.get("user.email") or ""
    return CommitAuthor(name, email) if name.strip() and email.strip() else None


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
        async with self.lock_of(repositories.common_dir(repository)):
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
    checkout = await branches.checkout_of_branch(repository, into) if tips.is_checked_out else ""
    base = old if old == new else await commands.read_line("merge-base", old, new, cwd=repository)
    if base is None:
        raise Conflict(
            f"{branch} and {into} have no commit in common.", hint="Only branches of one history can be merged."
        )
    if base == new:
        return Merged(commit=old, into=into, previous=old, checked_out_at=checkout)
    config = _author_settings(author or await configured_author(repository) or default_author)
    tree = await merge_trees(repository, old=old, new=new, base=base)
    if tree is not None:
        commit = await make_commit(repository, tree, parents=(old, new), message=message, config=config)
    else:
        result = await _merge_in_worktree(repository, into, old, new, message, config)
        if isinstance(result, MergeConflict):
            return result
        commit = result
    if checkout:
        is_moved = await branches.fast_forward(checkout, branch=into, old=old, new=commit)
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
    async with create.temporary_worktree(repository, at=old) as tree:
        if not await _make_merge_commit(tree, new, message, config):
            return await _read_conflicts(tree, into=into, into_commit=old, branch_commit=new)
        return (await commands.run_git("rev-parse", "HEAD", cwd=tree)).strip()


async def _make_merge_commit(tree: str, commit: str, message: str, author_settings: tuple[str, ...]) -> bool:
    """Make the merge commit in a worktree. Return False if files conflict."""
    options = ("--no-ff", "--no-edit", "--no-stat", "--no-log", "--quiet", "--cleanup=whitespace", "-m", message)
    config = (*create.MERGE_SETTINGS, *author_settings)
    try:
        await commands.run_git("merge", *options, commit, cwd=tree, seconds=limits.merge_seconds_max, config=config)
    except MaestroError as error:
        if commands.exit_code(error) != 1 or not await list_unmerged(tree):
            raise
        return False
    return True


async def _read_conflicts(tree: str, *, into: str, into_commit: str, branch_commit: str) -> MergeConflict:
    unmerged = await list_unmerged(tree)
    first = unmerged[: limits.conflict_files_max]
    details = await asyncio.to_thread(lambda: tuple(describe_conflict(tree, file) for file in first))
    return MergeConflict(
        files=tuple(commands.printable_name(file.name) for file in unmerged[: limits.worktree_names_max]),
        details=details,
        files_total=len(unmerged),
        into=into,
        into_commit=into_commit,
        branch_commit=branch_commit,
    )


async def merge_trees(repository: str, *, old: str, new: str, base: str) -> str | None:
    """Return the name of the tree of `new` merged into `old`; None if the merge needs a checkout."""
    if base == old:
        return f"{new}^{{tree}}"
    try:
        if await _has_attributes(repository, old, new):
            return None
        # git ends with 1 if files conflict, and with a larger status if it is too old for `merge-tree --write-tree`.
        arguments = ("--write-tree", "--no-messages", old, new)
        return (await commands.run_git("merge-tree", *arguments, cwd=repository)).strip()
    except MaestroError as error:
        if commands.exit_code(error) is None:
            raise
        return None


async def make_commit(
    repository: str, tree: str, *, parents: tuple[str, ...], message: str, config: tuple[str, ...]
) -> str:
    """Make the merge commit of a tree and return its name. The commit is on no branch yet."""
    parent_options = [argument for parent in parents for argument in ("-p", parent)]
    arguments = (tree, *parent_options, "-m", _clean_message(message))
    printed = await commands.run_git("commit-tree", *arguments, cwd=repository, config=config)
    return printed.strip()


async def _has_attributes(repository: str, old: str, new: str) -> bool:
    """Return whether a .gitattributes file may define how files are merged.

    git reads the attributes from a checkout, and without one would read them from the checkout of another branch.
    """
    all_files = ("ls-tree", "-r", "-z", "--name-only", old)
    changed_files = ("diff-tree", "-r", "-z", "--name-only", old, new)
    for command in (all_files, changed_files):
        printed = await commands.run_git(*command, cwd=repository)
        if _ATTRIBUTES in printed and any(name.endswith(_ATTRIBUTES) for name in printed.split("\0")):
            return True
    return False


def _clean_message(message: str) -> str:
    """Return a message in the form that `git merge --cleanup=whitespace` would give it."""
    lines = [line.rstrip() for line in message.splitlines()]
    return "\n".join(line for before, line in zip(["", *lines], lines, strict=False) if line or before).rstrip()


class FileConflict(msgspec.Struct, frozen=True):
    """A file with a conflict: the kind of conflict, and the conflicting lines of both branches and their base."""

    path: str
    kind: str
    text: str = ""


class UnmergedFile(msgspec.Struct, frozen=True):
    """A file that git could not merge, with the versions and file modes that git kept."""

    name: str
    stages: str
    modes: frozenset[str]


async def list_unmerged(tree: str) -> list[UnmergedFile]:
    """Return all files that git could not merge."""
    printed = await commands.run_git("ls-files", "--unmerged", "-z", cwd=tree)
    stages: dict[str, str] = {}
    modes: dict[str, set[str]] = {}
    for entry in filter(None, printed.split("\0")):
        facts, _, name = entry.partition("\t")
        mode, _, stage = facts.split(" ")
        stages[name] = stages.get(name, "") + stage
        modes.setdefault(name, set()).add(mode)
    return [UnmergedFile(name, stages[name], frozenset(modes[name])) for name in stages]


def describe_conflict(tree: str, file: UnmergedFile) -> FileConflict:
    """Describe a conflict: its kind in words, and the lines that git marked."""
    kind = _KINDS.get(file.stages, "not merged")
    if _SUBMODULE in file.modes:
        kind = f"submodule, {kind}"
    elif _LINK in file.modes:
        kind = f"symbolic link, {kind}"
    data = _read_beginning(Path(tree, file.name), inside=tree)
    if b"\0" in data:
        return FileConflict(commands.printable_name(file.name), f"binary file, {kind}")
    return FileConflict(commands.printable_name(file.name), kind, _shorten(marked_sections(data)))


def marked_sections(data: bytes) -> bytes:
    """Return the lines between git's conflict marks. Each section begins with the number of its first line."""
    lines: list[bytes] = []
    is_inside = False
    for number, line in enumerate(data.splitlines(keepends=True), 1):
        if line.startswith(b"<<<<<<< ") and not is_inside:
            is_inside = True
            lines.append(b"line %d:\n" % number)
        if is_inside:
            lines.append(line)
            is_inside = not line.startswith(b">>>>>>> ")
    return b"".join(lines)


def _shorten(text: bytes) -> str:
    kept = text[: limits.conflict_bytes_max]
    note = f"\n… cut here: {len(kept)} of {len(text)} bytes …\n" if len(kept) < len(text) else ""
    return kept.decode("utf-8", "replace") + note


def _read_beginning(path: Path, *, inside: str) -> bytes:
    """Return the first part of a plain file. Follow no link: a branch may hold a link to any file of the machine."""
    if not os.path.realpath(path.parent).startswith(os.path.realpath(inside)):
        return b""
    try:
        opened = small_files.open_plain(str(path))
    except OSError:
        return b""
    if opened is None:
        return b""
    with opened as file:
        return file.read(limits.conflict_read_bytes_max)
