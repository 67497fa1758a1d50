"""Files that git does not carry (`.env` and its like), copied from one checkout into a new worktree.

Nothing outside of either is read or written, and nothing that is there already is replaced.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from io import BufferedReader
from pathlib import Path, PurePosixPath

import msgspec

from maestro.core import errors, limits
from maestro.core.errors import Invalid, MaestroError, TooLarge
from maestro.git.worktrees import patterns, plain_files, records
from maestro.system import checkout_files, umasks


class Skipped(msgspec.Struct, frozen=True):
    """A file that fits a pattern and was not copied, or a pattern that nothing fits, and why."""

    path: str
    reason: str


class Copies(msgspec.Struct, frozen=True):
    """What came over: name → SHA-256, and what did not."""

    done: dict[str, str]
    skipped: tuple[Skipped, ...]


class _Unfit(Exception):
    """This one file is left out; the message says why."""


def copy(wanted: tuple[str, ...], *, source: str, target: str, known: dict[str, str]) -> Copies:
    """Copy what fits `wanted`. `known` are names that were copied in before, with their SHA-256."""
    done: dict[str, str] = {}
    skipped: list[Skipped] = []
    made: list[Path] = []
    names, unfit = _chosen(wanted, source)
    skipped += [Skipped(pattern, "there is no such file") for pattern in unfit]
    for name in names:
        try:
            done[name] = _copied(name, source=source, target=target, known=known.get(name), made=made)
        except _Unfit as reason:
            skipped.append(Skipped(name, str(reason)))
        except OSError as error:
            for path in made:
                path.unlink(missing_ok=True)
            raise errors.storage_fault(error, f"{name} cannot be copied into {target}") from error
    return Copies(done, tuple(skipped))


def _chosen(wanted: tuple[str, ...], source: str) -> tuple[list[str], list[str]]:
    """The names to copy, and the patterns that nothing fits; an error before the first copy when it is too much."""
    walk = patterns.Walk(source)
    sizes: dict[str, int] = {}
    unfit: list[str] = []
    for pattern in wanted:
        fits = False
        for name, entry in walk.matches(pattern):
            fits = True
            with contextlib.suppress(FileNotFoundError):
                sizes[name] = entry.stat(follow_symlinks=False).st_size
            if len(sizes) > limits.copy_files_max:
                raise _too_much(f"more than {limits.copy_files_max} files")
        unfit += [] if fits else [pattern]
    if sum(sizes.values()) > limits.copy_bytes_max:
        raise _too_much(f"more than {limits.copy_bytes_max} bytes")
    return list(sizes), unfit


def _too_much(what: str) -> MaestroError:
    hint = "Copy less, or let the set-up command fetch it."
    return TooLarge(f"[worktree] copy names {what}: nothing was copied.", hint=hint)


def _copied(name: str, *, source: str, target: str, known: str | None, made: list[Path]) -> str:
    """The SHA-256 of the copy, made now or before."""
    present = Path(target, name)
    if present.is_symlink() or present.exists():
        digest = records.digest(str(present))
        if known and digest == known:
            return digest
        raise _Unfit("the worktree has a file of that name")
    with contextlib.ExitStack() as opened:
        reader = opened.enter_context(_opened(source, name))
        folder = _enter_folder(opened, target, PurePosixPath(name).parent)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        mode = stat.S_IMODE(os.fstat(reader.fileno()).st_mode)
        with os.fdopen(os.open(present.name, flags, mode, dir_fd=folder), "wb") as writer:
            made.append(present)
            os.fchmod(writer.fileno(), umasks.person_mode(mode))
            shutil.copyfileobj(reader, writer)
    return records.digest(str(present))


def _opened(source: str, name: str) -> BufferedReader:
    path = Path(source, name)
    if path.is_symlink():
        raise _Unfit("it is a symbolic link")
    if path.is_dir():
        raise _Unfit(f"it is a folder: write {path.name}/** for all in it")
    try:
        with checkout_files.open_folder(source, str(PurePosixPath(name).parent)) as folder:
            opened = plain_files.open_plain(path.name, folder=folder)
    except OSError as error:
        raise _Unfit(f"it cannot be read: {error.strerror}") from None
    except Invalid as error:
        raise _Unfit(error.message) from None
    if opened is None:
        raise _Unfit("it is not a plain file")
    return opened


def _enter_folder(opened: contextlib.ExitStack, target: str, parent: PurePosixPath) -> int:
    """Open the folder of a copy, made where it is missing. The branch may hold a link in its place."""
    try:
        return opened.enter_context(checkout_files.open_folder(target, str(parent), makes=True))
    except (Invalid, NotADirectoryError):
        raise _Unfit(f"the worktree has no folder {parent}") from None
