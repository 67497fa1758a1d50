"""Return the changes of a worktree since its base, as text and as figures. Both are bounded."""

from __future__ import annotations

import tempfile
from pathlib import Path

import msgspec

from maestro.core import limits
from maestro.core.errors import MaestroError
from maestro.git.worktrees import branches, changes, commands, repositories

# git must not look into submodules: git would follow the configuration of the submodule, which agents write.
_OPTIONS = (
    *("--no-color", "--no-ext-diff", "--no-textconv", "--find-renames"),
    *("--submodule=short", "--ignore-submodules=dirty"),
)
# git shows a larger file as binary: its text would be cut anyway.
_CONFIG = (f"core.bigFileThreshold={limits.diff_file_bytes_max}",)


class FileStat(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of a changed file. A binary file has no lines."""

    path: str
    renamed_from: str = ""
    added: int = 0
    removed: int = 0
    is_binary: bool = False


class DiffStat(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of a diff: totals over all files, and the first files and names."""

    files: tuple[FileStat, ...]
    files_total: int
    added: int
    removed: int
    untracked: tuple[str, ...] = ()
    untracked_total: int = 0


async def read_diff(path: str, *, base_commit: str, uncommitted: bool = True) -> str:
    """Return the changes since the base as text. `uncommitted`: include changes without a commit, and new files.

    Files that the preparation copied are left out: they are not work, and may hold secrets.
    """
    compared = await _compared_commits(path, base_commit, uncommitted)
    limit = limits.diff_bytes_max
    with tempfile.TemporaryDirectory(prefix="maestro-diff-") as folder:
        text = _DiffText(str(Path(folder, "diff")), limit)
        await text.add_diff(*_OPTIONS, *compared, "--", cwd=path)
        omitted_count = await _add_untracked(text, path) if uncommitted else 0
    return text.join_parts(f"git diff {' '.join(compared)}", omitted_count)


async def read_diff_stat(path: str, *, base_commit: str, uncommitted: bool = True) -> DiffStat:
    """Return the figures of the same diff."""
    compared = await _compared_commits(path, base_commit, uncommitted)
    printed = await commands.run_git("diff", "--numstat", "-z", *_OPTIONS, *compared, "--", cwd=path, config=_CONFIG)
    files = _parse_file_stats(printed)
    untracked = (await changes.read_changes(path)).untracked if uncommitted else ()
    return DiffStat(
        files=tuple(files[: limits.worktree_names_max]),
        files_total=len(files),
        added=sum(file.added for file in files),
        removed=sum(file.removed for file in files),
        untracked=tuple(map(commands.printable_name, untracked[: limits.worktree_names_max])),
        untracked_total=len(untracked),
    )


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
            await commands.run_git("diff", f"--output={self._file}", *arguments, cwd=cwd, config=_CONFIG)
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


async def _compared_commits(path: str, base_commit: str, uncommitted: bool) -> tuple[str, ...]:
    await repositories.git_dir(path)
    base = await branches.require_commit(path, base_commit)
    return (base,) if uncommitted else (base, "HEAD")


async def _add_untracked(text: _DiffText, path: str) -> int:
    """Add the diffs of new files, as if the files were added to git; return the number of omitted files."""
    names = [name for name in (await changes.read_changes(path)).untracked if not name.endswith("/")]
    for number, name in enumerate(names):
        if text.is_full or number == limits.diff_untracked_files_max:
            return len(names) - number
        await text.add_diff(*_OPTIONS, "--no-index", "--", "/dev/null", name, cwd=path)
    return 0


def _parse_file_stats(printed: str) -> list[FileStat]:
    fields = iter(printed.split("\0"))
    file_stats: list[FileStat] = []
    for field in fields:
        if not field:
            continue
        added, removed, name = field.split("\t", 2)
        old = ""
        if not name:  # renamed: both names follow
            old, name = next(fields), next(fields)
        file_stats.append(
            FileStat(
                path=commands.printable_name(name),
                renamed_from=commands.printable_name(old),
                added=0 if added == "-" else int(added),
                removed=0 if removed == "-" else int(removed),
                is_binary=added == "-",
            )
        )
    return file_stats
