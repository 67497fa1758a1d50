"""What a worktree changed since its base, as text for a reader and as figures. Both are bounded."""

from __future__ import annotations

import tempfile
from pathlib import Path

import msgspec

from maestro.core import limits
from maestro.core.errors import MaestroError
from maestro.git.worktrees import branches, changes, commands, repositories

# Without a look into submodules: git would run in them by their own configuration, which agents write.
_WORDS = (
    *("--no-color", "--no-ext-diff", "--no-textconv", "--find-renames"),
    *("--submodule=short", "--ignore-submodules=dirty"),
)
# A larger file is told as binary: its text would be cut anyway.
_CONFIG = (f"core.bigFileThreshold={limits.diff_file_bytes_max}",)


class FileStat(msgspec.Struct, frozen=True, kw_only=True):
    """One changed file; a binary one has no lines."""

    path: str
    renamed_from: str = ""
    added: int = 0
    removed: int = 0
    is_binary: bool = False


class DiffStat(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of a diff: totals over all, and the first files and names."""

    files: tuple[FileStat, ...]
    files_total: int
    added: int
    removed: int
    untracked: tuple[str, ...] = ()
    untracked_total: int = 0


async def diff(path: str, *, base_commit: str, uncommitted: bool = True) -> str:
    """The changes since the base; with `uncommitted` also what is in no commit yet, new files among it.

    Files that were copied in are left out: they are not work, and may hold secrets.
    """
    compared = await _compared(path, base_commit, uncommitted)
    limit = limits.diff_bytes_max
    with tempfile.TemporaryDirectory(prefix="maestro-diff-") as folder:
        text = _Text(str(Path(folder, "diff")), limit)
        await text.add("diff", *_WORDS, *compared, "--", cwd=path)
        left = await _add_untracked(text, path) if uncommitted else 0
    return text.whole(f"git diff {' '.join(compared)}", left)


async def diff_stat(path: str, *, base_commit: str, uncommitted: bool = True) -> DiffStat:
    """The figures of the same diff."""
    compared = await _compared(path, base_commit, uncommitted)
    printed = await commands.run("diff", "--numstat", "-z", *_WORDS, *compared, "--", cwd=path, config=_CONFIG)
    files = _file_stats(printed)
    untracked = (await changes.look(path)).untracked if uncommitted else ()
    return DiffStat(
        files=tuple(files[: limits.worktree_names_max]),
        files_total=len(files),
        added=sum(file.added for file in files),
        removed=sum(file.removed for file in files),
        untracked=tuple(map(commands.shown, untracked[: limits.worktree_names_max])),
        untracked_total=len(untracked),
    )


class _Text:
    """The text of several diffs, up to a limit. Each goes through a file, for git may print without end."""

    def __init__(self, file: str, limit_bytes: int) -> None:
        self._file = Path(file)
        self._limit = limit_bytes
        self._parts: list[bytes] = []
        self.kept_bytes = 0
        self.total_bytes = 0

    async def add(self, command: str, *words: str, cwd: str) -> None:
        try:
            await commands.run(command, f"--output={self._file}", *words, cwd=cwd, config=_CONFIG)
        except MaestroError as error:
            if commands.exit_code(error) != 1:  # outside of a repository that only says: there is a difference
                raise
        self.total_bytes += self._file.stat().st_size
        with self._file.open("rb") as opened:
            part = opened.read(self._limit - self.kept_bytes)
        self.kept_bytes += len(part)
        self._parts.append(part)

    @property
    def is_full(self) -> bool:
        return self.kept_bytes >= self._limit

    def whole(self, command: str, left: int) -> str:
        kept = b"".join(self._parts)
        note = f"\n… {left} more new files are not shown …\n" if left else ""
        if self.total_bytes > len(kept):
            kept = kept[: kept.rfind(b"\n") + 1] or kept
            note = f"\n… cut here: {len(kept)} of {self.total_bytes} bytes; all of it with: {command} …\n{note}"
        return kept.decode("utf-8", "replace") + note


async def _compared(path: str, base_commit: str, uncommitted: bool) -> tuple[str, ...]:
    await repositories.git_dir(path)
    base = await branches.known_commit(path, base_commit)
    return (base,) if uncommitted else (base, "HEAD")


async def _add_untracked(text: _Text, path: str) -> int:
    """Adds new files as git would show them, had they been added; how many are left out."""
    names = [name for name in (await changes.look(path)).untracked if not name.endswith("/")]
    for number, name in enumerate(names):
        if text.is_full or number == limits.diff_untracked_files_max:
            return len(names) - number
        await text.add("diff", *_WORDS, "--no-index", "--", "/dev/null", name, cwd=path)
    return 0


def _file_stats(printed: str) -> list[FileStat]:
    fields = iter(printed.split("\0"))
    found: list[FileStat] = []
    for field in fields:
        if not field:
            continue
        added, removed, name = field.split("\t", 2)
        old = ""
        if not name:  # renamed: both names follow
            old, name = next(fields), next(fields)
        found.append(
            FileStat(
                path=commands.shown(name),
                renamed_from=commands.shown(old),
                added=0 if added == "-" else int(added),
                removed=0 if removed == "-" else int(removed),
                is_binary=added == "-",
            )
        )
    return found
