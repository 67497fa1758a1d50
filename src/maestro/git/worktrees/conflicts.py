"""Describe the conflicts of a merge, file by file, from the worktree of the attempted merge."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from maestro.core import limits
from maestro.git.worktrees import commands, plain_files

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
        opened = plain_files.open_plain(str(path))
    except OSError:
        return b""
    if opened is None:
        return b""
    with opened as file:
        return file.read(limits.conflict_read_bytes_max)
