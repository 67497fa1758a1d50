"""Read the uncommitted changes of a worktree: changed files, new files, and files from its preparation."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec

from maestro.git.worktrees import commands, records, repositories

# The number of fields before the file name, by the kind of line that `git status` prints.
_FIELD_COUNTS = {"1": 8, "u": 10, "?": 1}
_DETACHED = "(detached)"


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
    record = records.read_record(await repositories.git_dir(path))
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
