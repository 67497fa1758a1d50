"""What in a worktree is in no commit yet: changed files, new files, and those that Maestro itself copied in."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec

from maestro.worktrees import commands, records, repositories


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """File names relative to the worktree, as git gave them. What git ignores is not among them."""

    changed: tuple[str, ...] = ()
    untracked: tuple[str, ...] = ()
    copied: tuple[str, ...] = ()  # untracked, but just as they were copied in
    altered: tuple[str, ...] = ()  # copied in, and changed since

    @property
    def is_clean(self) -> bool:
        """Whether nothing would be lost with the folder."""
        return not (self.changed or self.untracked or self.altered)


async def look(path: str) -> Changes:
    """The changes in a worktree."""
    record = records.read(await repositories.git_dir(path))
    printed = await commands.run(
        "status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--ignore-submodules=none", cwd=path
    )
    entries = [(entry[:2], entry[3:]) for entry in printed.split("\0") if entry]
    untracked = [name for mark, name in entries if mark == "??"]
    ours = [name for name in untracked if name in record.copied]
    copied = await asyncio.to_thread(_unaltered, path, ours, record)
    return Changes(
        changed=tuple(name for mark, name in entries if mark != "??"),
        untracked=tuple(name for name in untracked if name not in record.copied),
        copied=tuple(copied),
        altered=tuple(name for name in ours if name not in copied),
    )


def _unaltered(path: str, names: list[str], record: records.Record) -> list[str]:
    return [name for name in names if (records.digest(str(Path(path, name))) or None) == record.copied[name]]
