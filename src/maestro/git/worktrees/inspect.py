"""Read the state of a worktree: changed files, commits, work that a merge would leave out, and its diff."""

from __future__ import annotations

import asyncio
import os
import tempfile
from enum import StrEnum
from pathlib import Path

import msgspec

from maestro.core import limits
from maestro.core.errors import MaestroError, NotFound
from maestro.git import repositories
from maestro.git.worktrees import branches, commands, records

# The number of fields before the file name, by the kind of line that `git status` prints.
_FIELD_COUNTS = {"1": 8, "u": 10, "?": 1}
_DETACHED = "(detached)"
_BLOCK_BYTES = 512  # the unit of st_blocks on every disk
# git must not look into submodules: git would follow the configuration of the submodule, which agents write.
_DIFF_OPTIONS = (
    *("--no-color", "--no-ext-diff", "--no-textconv", "--find-renames"),
    *("--submodule=short", "--ignore-submodules=dirty"),
)
# git shows a larger file as binary: its text would be cut anyway.
_DIFF_CONFIG = (f"core.bigFileThreshold={limits.diff_file_bytes_max}",)


class WorktreeChanges(msgspec.Struct, frozen=True, kw_only=True):
    """The uncommitted files by kind, as names relative to the worktree, without files that git ignores."""

    changed: tuple[str, ...] = ()
    untracked: tuple[str, ...] = ()
    copied: tuple[str, ...] = ()  # untracked, and unchanged since the preparation copied or created the file
    altered: tuple[str, ...] = ()  # untracked, and changed since the preparation copied or created the file
    restored: tuple[str, ...] = ()  # tracked, and unchanged since the set-up command changed the file
    head: str = ""  # the commit; empty before the first commit
    branch: str = ""  # empty when a commit is checked out without a branch

    @property
    def is_clean(self) -> bool:
        """Return whether no work would be lost with the folder."""
        return not self.work

    @property
    def work(self) -> tuple[str, ...]:
        """Return the files that would be lost with the folder."""
        return self.changed + self.untracked + self.altered


async def read_changes(path: str) -> WorktreeChanges:
    """Return the uncommitted changes of a worktree."""
    record = records.read_record(repositories.worktree_git_dir(path))
    # git must not look into submodules: git would follow the configuration of the submodule, which agents write.
    options = (
        "--porcelain=v2",
        "--branch",
        "-z",
        "--no-renames",
        "--untracked-files=all",
        "--ignore-submodules=dirty",
    )
    lines = (await commands.run_git("status", *options, cwd=path)).split("\0")
    entry_lines = [line for line in lines if line and line[0] in _FIELD_COUNTS]
    entries = [(line[0], line.split(" ", _FIELD_COUNTS[line[0]])[-1]) for line in entry_lines]
    untracked = [name for kind, name in entries if kind == "?"]
    changed = [name for kind, name in entries if kind != "?"]
    unaltered = await asyncio.to_thread(_unaltered_files, path, [*untracked, *changed], record)
    prepared = record.copied.keys() | record.made.keys()
    facts = dict(line.removeprefix("# ").split(" ", 1) for line in lines if line.startswith("# "))
    head, branch = facts.get("branch.oid", ""), facts.get("branch.head", "")
    return WorktreeChanges(
        changed=tuple(name for name in changed if name not in unaltered),
        untracked=tuple(name for name in untracked if name not in prepared),
        copied=tuple(name for name in untracked if name in unaltered),
        altered=tuple(name for name in untracked if name in prepared and name not in unaltered),
        restored=tuple(name for name in changed if name in unaltered),
        head=head if head != "(initial)" else "",
        branch=branch if branch != _DETACHED else "",
    )


def _unaltered_files(path: str, names: list[str], record: records.WorktreeRecord) -> set[str]:
    """Return the files that still have the content that the preparation gave them."""
    digests = record.copied | record.made
    return {
        name for name in names if name in digests and records.hash_plain_file(str(Path(path, name))) == digests[name]
    }


class GitOperation(StrEnum):
    """A git operation that is not finished."""

    NONE = ""
    MERGE = "merge"
    REBASE = "rebase"
    CHERRY_PICK = "cherry-pick"
    REVERT = "revert"
    BISECT = "bisect"


_OPERATIONS_BY_FILE = {
    "rebase-merge": GitOperation.REBASE,  # first: a rebase also leaves the head files below
    "rebase-apply": GitOperation.REBASE,
    "MERGE_HEAD": GitOperation.MERGE,
    "CHERRY_PICK_HEAD": GitOperation.CHERRY_PICK,
    "REVERT_HEAD": GitOperation.REVERT,
    "BISECT_LOG": GitOperation.BISECT,
}


class GitWorktreeState(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a worktree at a moment. Ignored and prepared files count only for the size."""

    is_clean: bool
    changed: int
    untracked: int
    ahead: int  # commits since the base that are not in the branch for the work
    is_elsewhere: bool  # the worktree has commits that are not on its branch
    head: str  # empty before the first commit
    branch: str  # empty when a commit is checked out without a branch
    operation: GitOperation
    size_bytes: int
    is_size_whole: bool


async def read_state(
    path: str, *, base_commit: str, branch: str = "", within: str | None = None, repository: str | None = None
) -> GitWorktreeState:
    """Return the state of the worktree at `path`, compared with its base commit and with the branch for its work.

    `branch`: the branch that the worktree was made with, if it is not the current one. `within`: the branch for its
    work; if the branch does not exist, the commit that `repository` has checked out takes its place.
    """
    git_dir = repositories.worktree_git_dir(path)
    present = await read_changes(path)
    tips = await branches.branch_tips(path, *filter(None, (branch, within)))
    branch_commit = tips.get(branch, present.head)
    known = [await branches.require_commit(path, base_commit)]
    if within in tips:
        known.append(tips[within])
    elif repository is not None:
        known.append(await branches.require_commit(repository, None))
    ahead = await _count_commits(path, [present.head, branch_commit], known)
    has_other_head = bool(ahead and present.head != branch_commit)
    is_elsewhere = has_other_head and await _count_commits(path, [present.head], [*known, branch_commit]) > 0
    size, is_whole = await asyncio.to_thread(measure_folder, path)
    return GitWorktreeState(
        is_clean=present.is_clean,
        changed=len(present.changed),
        untracked=len(present.untracked) + len(present.altered),
        ahead=ahead,
        is_elsewhere=is_elsewhere,
        head=present.head,
        branch=present.branch,
        operation=unfinished_operation(git_dir),
        size_bytes=size,
        is_size_whole=is_whole,
    )


def unfinished_operation(git_dir: str) -> GitOperation:
    """Return the unfinished git operation of a worktree, recognised by the files that git keeps for the operation."""
    operations = _OPERATIONS_BY_FILE.items()
    return next((operation for file, operation in operations if Path(git_dir, file).exists()), GitOperation.NONE)


async def _count_commits(path: str, commits: list[str], known: list[str]) -> int:
    """Return the number of commits that `commits` contain and `known` do not."""
    named = sorted(set(filter(None, commits)))
    if not named:
        return 0
    return int(await commands.run_git("rev-list", "--count", *named, "--not", *known, cwd=path))


def measure_folder(folder: str) -> tuple[int, bool]:
    """Return the bytes of a folder, and False if the count stopped at the limit of files. Follows no links."""
    size = visited_count = 0
    unvisited = [folder]
    while unvisited:
        try:
            with os.scandir(unvisited.pop()) as entries:
                for entry in entries:
                    visited_count += 1
                    if visited_count > limits.worktree_walk_entries_max:
                        return size, False
                    size += entry.stat(follow_symlinks=False).st_blocks * _BLOCK_BYTES
                    if entry.is_dir(follow_symlinks=False):
                        unvisited.append(entry.path)
        except OSError:
            continue  # the folder is not readable, or was deleted meanwhile
    return size, True


async def find_unmerged_work(repository: str, *, path: str, branch: str) -> str:
    """Return why a worktree holds work that is not on its branch; an empty text if all work is on the branch."""
    try:
        git_dir = repositories.worktree_git_dir(path)
        present = await read_changes(path)
    except (MaestroError, OSError) as error:
        if Path(path).is_dir() and not isinstance(error, NotFound):
            raise
        return f"the worktree is gone: {path}. Only the commits on {branch} are left."
    if present.work:
        return f"uncommitted: {_shorten_list(present.work)}. Commit the files on {branch}, or discard them."
    operation = unfinished_operation(git_dir)
    if operation:
        name, way_out = operation.value, "reset" if operation is GitOperation.BISECT else "--abort"
        return f"a {name} is under way in {path}. Finish the {name}, or run: git {name} {way_out}"
    if present.branch != branch and await _is_elsewhere(repository, present.head, branch):
        location = f"on {present.branch}" if present.branch else f"at {present.head[:12]}, without a branch"
        return (
            f"committed elsewhere: {location}. Only commits on {branch} are merged: "
            f"run git switch {branch}, then git merge"
        )
    return ""


async def _is_elsewhere(repository: str, head: str, branch: str) -> bool:
    """Return whether a commit is not contained in a branch."""
    tip = await branches.branch_tip(repository, branch)
    return bool(head) and (tip is None or not await branches.contains_commit(repository, commit=head, within=tip))


def _shorten_list(names: tuple[str, ...]) -> str:
    more = len(names) - limits.names_in_message_max
    shown = ", ".join(commands.printable_name(name) for name in names[: limits.names_in_message_max])
    return f"{shown} and {more} more" if more > 0 else shown


async def read_diff(path: str, *, base_commit: str) -> str:
    """Return the changes of a worktree since its base as text of bounded length, uncommitted changes included.

    Files that the preparation copied are left out: they are not work, and may hold secrets.
    """
    repositories.worktree_git_dir(path)
    base = await branches.require_commit(path, base_commit)
    with tempfile.TemporaryDirectory(prefix="maestro-diff-") as folder:
        text = _DiffText(str(Path(folder, "diff")), limits.diff_bytes_max)
        await text.add_diff(*_DIFF_OPTIONS, base, "--", cwd=path)
        omitted_count = await _add_untracked(text, path)
    return text.join_parts(f"git diff {base}", omitted_count)


class _DiffText:
    """The text of several diffs, up to a limit. Each diff goes through a file, because a diff may be very long."""

    def __init__(self, file: str, limit_bytes: int) -> None:
        self._file = Path(file)
        self._limit = limit_bytes
        self._parts: list[bytes] = []
        self.kept_bytes = 0
        self.total_bytes = 0

    async def add_diff(self, *arguments: str, cwd: str) -> None:
        """Run `git diff` with the arguments, and add its output."""
        try:
            await commands.run_git("diff", f"--output={self._file}", *arguments, cwd=cwd, config=_DIFF_CONFIG)
        except MaestroError as error:
            if commands.exit_code(error) != 1:  # with --no-index, 1 means: the files differ
                raise
        self.total_bytes += self._file.stat().st_size
        with self._file.open("rb") as opened:
            part = opened.read(self._limit - self.kept_bytes)
        self.kept_bytes += len(part)
        self._parts.append(part)

    @property
    def is_full(self) -> bool:
        return self.kept_bytes >= self._limit

    def join_parts(self, command: str, omitted_count: int) -> str:
        """Return the complete text, with a note if the text was cut or new files were omitted."""
        kept = b"".join(self._parts)
        note = f"\n… {omitted_count} more new files are not shown …\n" if omitted_count else ""
        if self.total_bytes > len(kept):
            kept = kept[: kept.rfind(b"\n") + 1] or kept
            size = f"{len(kept)} of {self.total_bytes} bytes"
            note = f"\n… cut here: {size}; run `{command}` for the complete diff …\n{note}"
        return kept.decode("utf-8", "replace") + note


async def _add_untracked(text: _DiffText, path: str) -> int:
    """Add the diffs of new files, as if the files were added to git; return the number of omitted files."""
    names = [name for name in (await read_changes(path)).untracked if not name.endswith("/")]
    for number, name in enumerate(names):
        if text.is_full or number == limits.diff_untracked_files_max:
            return len(names) - number
        await text.add_diff(*_DIFF_OPTIONS, "--no-index", "--", "/dev/null", name, cwd=path)
    return 0
