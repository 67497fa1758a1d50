"""What in a worktree is in no commit yet: changed files, new files, and those that came with its preparation."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec

from maestro.git.worktrees import commands, records, repositories

# How many fields stand before the name, by the kind of line that `git status` prints.
_FIELDS = {"1": 8, "u": 10, "?": 1}
_DETACHED = "(detached)"


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """File names relative to the worktree, as git gave them. What git ignores is not among them."""

    changed: tuple[str, ...] = ()
    untracked: tuple[str, ...] = ()
    copied: tuple[str, ...] = ()  # untracked, but just as they were copied in or made by the set-up command
    altered: tuple[str, ...] = ()  # such a one, changed since
    restored: tuple[str, ...] = ()  # known to git, but changed just as the set-up command left it
    head: str = ""  # the commit; empty before a first one
    branch: str = ""  # empty when a commit is checked out without one

    @property
    def is_clean(self) -> bool:
        """Whether nothing would be lost with the folder."""
        return not self.work

    @property
    def work(self) -> tuple[str, ...]:
        """All that would be lost."""
        return self.changed + self.untracked + self.altered


async def look(path: str) -> Changes:
    """The changes in a worktree."""
    record = records.read(await repositories.git_dir(path))
    # git does not look into submodules: it would run there by their own configuration, which agents write.
    words = ("--porcelain=v2", "--branch", "-z", "--no-renames", "--untracked-files=all", "--ignore-submodules=dirty")
    lines = (await commands.run("status", *words, cwd=path)).split("\0")
    entries = [(line[0], line.split(" ", _FIELDS[line[0]])[-1]) for line in lines if line and line[0] in _FIELDS]
    untracked = [name for mark, name in entries if mark == "?"]
    changed = [name for mark, name in entries if mark != "?"]
    same = await asyncio.to_thread(_unaltered, path, [*untracked, *changed], record)
    ours = record.copied.keys() | record.made.keys()
    facts = dict(line.removeprefix("# ").split(" ", 1) for line in lines if line.startswith("# "))
    head, branch = facts.get("branch.oid", ""), facts.get("branch.head", "")
    return Changes(
        changed=tuple(name for name in changed if name not in same),
        untracked=tuple(name for name in untracked if name not in ours),
        copied=tuple(name for name in untracked if name in same),
        altered=tuple(name for name in untracked if name in ours and name not in same),
        restored=tuple(name for name in changed if name in same),
        head=head if head != "(initial)" else "",
        branch=branch if branch != _DETACHED else "",
    )


def _unaltered(path: str, names: list[str], record: records.Record) -> set[str]:
    known = record.copied | record.made
    return {name for name in names if name in known and records.digest(str(Path(path, name))) == known[name]}
