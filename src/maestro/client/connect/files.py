"""Settings files as they lie there: read whole or not at all, written whole or not at all, and only if nobody else
wrote in between. Links are followed; who may read and write them stays as it is."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

from maestro.client.connect.merging import LeftAlone

BYTES_MAX = 16 * 1024 * 1024
_FRESH_MODE = 0o600  # settings may hold keys


class ChangedMeanwhile(Exception):
    """Someone else wrote to the file since it was read."""


@dataclass(frozen=True)
class Found:
    """A file's content; None if there is no such file."""

    path: Path  # where it really lies
    content: bytes | None
    mode: int = _FRESH_MODE

    @property
    def text(self) -> str:
        try:
            return (self.content or b"").decode()
        except UnicodeDecodeError:
            raise LeftAlone("it is not UTF-8") from None


def read(path: Path) -> Found:
    """A file, past any links; LeftAlone if it is none that may be changed."""
    try:
        real = Path(os.path.realpath(path))
        found = real.lstat()
    except FileNotFoundError:
        return Found(real, None)
    except OSError as error:
        raise LeftAlone(f"it cannot be read: {error.strerror}") from None
    if stat.S_ISLNK(found.st_mode):
        raise LeftAlone("its links lead in a circle")
    if not stat.S_ISREG(found.st_mode):
        raise LeftAlone("it is no plain file")
    if found.st_size > BYTES_MAX:
        raise LeftAlone(f"it is larger than {BYTES_MAX // 1024**2} MiB")
    try:
        content = real.read_bytes()
    except OSError as error:
        raise LeftAlone(f"it cannot be read: {error.strerror}") from None
    return Found(real, content, stat.S_IMODE(found.st_mode))


def write(found: Found, content: bytes) -> list[Path]:
    """Put another content in its place; the folders that were made for it.

    A file that nobody may write is left alone, also where the system would let us replace it.
    """
    if found.content is not None and not found.mode & 0o222:
        raise LeftAlone("it is read-only")
    made = _make_folders(found.path.parent)
    try:
        _replace(found, content)
    except OSError as error:
        raise LeftAlone(f"it cannot be written: {error.strerror}") from None
    return made


def remove(found: Found) -> None:
    """Take a file away that Maestro made."""
    _unchanged(found)
    found.path.unlink(missing_ok=True)


def remove_folders(folders: list[Path]) -> None:
    """Folders that Maestro made, as far as nothing is in them."""
    for folder in sorted(folders, key=lambda one: len(one.parts), reverse=True):
        with contextlib.suppress(OSError):
            folder.rmdir()


def _make_folders(folder: Path) -> list[Path]:
    missing = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    for one in reversed(missing):
        try:
            one.mkdir(mode=0o700)
        except OSError as error:
            raise LeftAlone(f"{one} cannot be made: {error.strerror}") from None
    return missing


def _replace(found: Found, content: bytes) -> None:
    descriptor, name = tempfile.mkstemp(prefix=f".{found.path.name}.", dir=found.path.parent)
    part = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as out:
            out.write(content)
            out.flush()
            os.fchmod(out.fileno(), found.mode)
            os.fsync(out.fileno())
        if found.content is not None:
            with contextlib.suppress(OSError):  # as root: whose it is stays as it is
                there = found.path.stat()
                os.chown(part, there.st_uid, there.st_gid)
        _unchanged(found)
        part.rename(found.path)
    finally:
        part.unlink(missing_ok=True)


def _unchanged(found: Found) -> None:
    try:
        now: bytes | None = found.path.read_bytes()
    except FileNotFoundError:
        now = None
    if now != found.content:
        raise ChangedMeanwhile
