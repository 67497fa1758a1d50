"""Copy files that are not in git (such as `.env`) from a checkout into a new worktree.

Patterns name the files. No file outside of the checkout and the worktree is read or written, no link is followed, and
no existing file is replaced.
"""

from __future__ import annotations

import contextlib
import fnmatch
import os
import shutil
import stat
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path, PurePosixPath

import msgspec

from maestro.core import errors, limits
from maestro.core.errors import Invalid, MaestroError, TooLarge
from maestro.git.worktrees import records
from maestro.system import checkout_files, small_files, umasks


class SkippedFile(msgspec.Struct, frozen=True):
    """A matching file that was not copied, or a pattern without a matching file, and the reason."""

    path: str
    reason: str


class CopyResult(msgspec.Struct, frozen=True):
    """The result of copying: the SHA-256 of each copied file by name, and the skipped files."""

    done: dict[str, str]
    skipped: tuple[SkippedFile, ...]


class _SkipFileError(Exception):
    """A file is not copied; the message gives the reason."""


def copy_files(wanted_patterns: tuple[str, ...], *, source: str, target: str, known: dict[str, str]) -> CopyResult:
    """Copy the files that match the wanted patterns. `known`: names of earlier copies, with their SHA-256."""
    done: dict[str, str] = {}
    skipped: list[SkippedFile] = []
    created: list[Path] = []
    names, unmatched = _find_matching_files(wanted_patterns, source)
    skipped += [SkippedFile(pattern, "there is no such file") for pattern in unmatched]
    for name in names:
        try:
            done[name] = _copy_file(name, source=source, target=target, known=known.get(name), created=created)
        except _SkipFileError as reason:
            skipped.append(SkippedFile(name, str(reason)))
        except OSError as error:
            for path in created:
                path.unlink(missing_ok=True)
            raise errors.storage_fault(error, f"{name} cannot be copied into {target}") from error
    return CopyResult(done, tuple(skipped))


def _find_matching_files(wanted: tuple[str, ...], source: str) -> tuple[list[str], list[str]]:
    """Return the names of the matching files, and the patterns without a match. Refuse too many files or bytes."""
    walk = PatternSearch(source)
    sizes: dict[str, int] = {}
    unmatched: list[str] = []
    for pattern in wanted:
        has_match = False
        for name, entry in walk.find_matches(pattern):
            has_match = True
            with contextlib.suppress(FileNotFoundError):
                sizes[name] = entry.stat(follow_symlinks=False).st_size
            if len(sizes) > limits.copy_files_max:
                raise _too_large(f"more than {limits.copy_files_max} files")
        unmatched += [] if has_match else [pattern]
    if sum(sizes.values()) > limits.copy_bytes_max:
        raise _too_large(f"more than {limits.copy_bytes_max} bytes")
    return list(sizes), unmatched


def _too_large(amount: str) -> MaestroError:
    hint = "Copy fewer files, or let the set-up command fetch the files."
    return TooLarge(f"[worktree] copy names {amount}: no file was copied.", hint=hint)


def _copy_file(name: str, *, source: str, target: str, known: str | None, created: list[Path]) -> str:
    """Copy a file unless an earlier copy is unchanged; return the SHA-256 of the copy."""
    copy_path = Path(target, name)
    if copy_path.is_symlink() or copy_path.exists():
        digest = records.hash_plain_file(str(copy_path))
        if known and digest == known:
            return digest
        raise _SkipFileError("the worktree already has a file with this name")
    with contextlib.ExitStack() as opened:
        reader = opened.enter_context(_open_source(source, name))
        folder = _enter_folder(opened, target, PurePosixPath(name).parent)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        mode = stat.S_IMODE(os.fstat(reader.fileno()).st_mode)
        with os.fdopen(os.open(copy_path.name, flags, mode, dir_fd=folder), "wb") as writer:
            created.append(copy_path)
            os.fchmod(writer.fileno(), umasks.person_mode(mode))
            shutil.copyfileobj(reader, writer)
    return records.hash_plain_file(str(copy_path))


def _open_source(source: str, name: str) -> BufferedReader:
    path = Path(source, name)
    if path.is_symlink():
        raise _SkipFileError("it is a symbolic link")
    if path.is_dir():
        raise _SkipFileError(f"it is a folder: write {path.name}/** to copy all files in it")
    try:
        with checkout_files.open_folder(source, str(PurePosixPath(name).parent)) as folder:
            opened = small_files.open_plain(path.name, folder=folder)
    except OSError as error:
        raise _SkipFileError(f"it cannot be read: {error.strerror}") from None
    except Invalid as error:
        raise _SkipFileError(error.message) from None
    if opened is None:
        raise _SkipFileError("it is not a plain file")
    return opened


def _enter_folder(opened: contextlib.ExitStack, target: str, parent: PurePosixPath) -> int:
    """Open the folder of a copy; create a missing folder. Refuse a link, which the branch may hold at the path."""
    try:
        return opened.enter_context(checkout_files.open_folder(target, str(parent), creates=True))
    except (Invalid, NotADirectoryError):
        raise _SkipFileError(f"the worktree has no folder {parent}") from None


class PatternSearch:
    """A search for patterns below a folder. All searches together visit a bounded number of entries."""

    def __init__(self, top: str) -> None:
        self._top = top
        self._visited_count = 0

    def find_matches(self, pattern: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
        """Yield the entries of any kind that match a pattern, with their names relative to the top folder."""
        yield from self._match_below("", PurePosixPath(pattern).parts)

    def _match_below(self, folder: str, parts: tuple[str, ...]) -> Iterator[tuple[str, os.DirEntry[str]]]:
        first, rest = parts[0], parts[1:]
        if first == "**" and rest:
            yield from self._match_below(folder, rest)  # `**` stands for no folder
        for entry in self._list_entries(folder):
            name = folder + entry.name
            is_folder = entry.is_dir(follow_symlinks=False)
            if first == "**":
                if is_folder:
                    yield from self._match_below(name + "/", parts)
                elif not rest:
                    yield name, entry
            elif fnmatch.fnmatchcase(entry.name, first):
                if not rest:
                    yield name, entry
                elif is_folder:
                    yield from self._match_below(name + "/", rest)

    def _list_entries(self, folder: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(f"{self._top}/{folder}") as scanned:
                entries = sorted((entry for entry in scanned if entry.name != ".git"), key=lambda entry: entry.name)
        except OSError:
            return []  # the folder is not readable, or was just deleted
        self._visited_count += len(entries)
        if self._visited_count > limits.worktree_walk_entries_max:
            raise TooLarge(
                f"A pattern of [worktree] copy makes Maestro search more than {limits.worktree_walk_entries_max} "
                f"files in {self._top}.",
                hint="Write a narrower pattern into [worktree] copy.",
            )
        return entries
