"""Read and write settings files, whole or not at all.

A file is written only if no other process changed the file since it was read. Links are followed; the mode and the
owner of a file stay the same.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

from maestro.client.connect.settings_text import NotChangeable

BYTES_MAX = 16 * 1024 * 1024
_FRESH_MODE = 0o600  # settings may hold keys


class ChangedMeanwhile(Exception):
    """Another process wrote to the file since it was read."""


@dataclass(frozen=True)
class SettingsContent:
    """A settings file and its content; the content is None if the file does not exist."""

    path: Path  # the real path, links resolved
    content: bytes | None
    mode: int = _FRESH_MODE

    @property
    def text(self) -> str:
        try:
            return (self.content or b"").decode()
        except UnicodeDecodeError:
            raise NotChangeable("the file is not UTF-8") from None


def read_settings(path: Path) -> SettingsContent:
    """Read a file and follow links; raise NotChangeable if Maestro may not change the file."""
    try:
        real = Path(os.path.realpath(path))
        status = real.lstat()
    except FileNotFoundError:
        return SettingsContent(real, None)
    except OSError as error:
        raise NotChangeable(f"the file cannot be read: {error.strerror}") from None
    if stat.S_ISLNK(status.st_mode):
        raise NotChangeable("the links to the file form a circle")
    if not stat.S_ISREG(status.st_mode):
        raise NotChangeable("it is not a regular file")
    if status.st_size > BYTES_MAX:
        raise NotChangeable(f"the file is larger than {BYTES_MAX // 1024**2} MiB")
    try:
        content = real.read_bytes()
    except OSError as error:
        raise NotChangeable(f"the file cannot be read: {error.strerror}") from None
    return SettingsContent(real, content, stat.S_IMODE(status.st_mode))


def write_settings(settings: SettingsContent, content: bytes) -> list[Path]:
    """Replace the content of a file; return the folders that were made for the file.

    A read-only file stays unchanged, also where the system would let Maestro replace the file.
    """
    if settings.content is not None and not settings.mode & 0o222:
        raise NotChangeable("the file is read-only")
    folders = _make_folders(settings.path.parent)
    try:
        _replace_file(settings, content)
    except OSError as error:
        raise NotChangeable(f"the file cannot be written: {error.strerror}") from None
    return folders


def remove_settings(settings: SettingsContent) -> None:
    """Remove a file that Maestro made."""
    _require_unchanged(settings)
    settings.path.unlink(missing_ok=True)


def remove_folders(folders: list[Path]) -> list[Path]:
    """Remove the folders that Maestro made, except folders with other content; return the folders that stay."""
    for folder in sorted(folders, key=lambda path: len(path.parts), reverse=True):
        with contextlib.suppress(OSError):
            folder.rmdir()
    return [folder for folder in folders if folder.exists()]


def _make_folders(folder: Path) -> list[Path]:
    missing = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    for path in reversed(missing):
        try:
            path.mkdir(mode=0o700)
        except OSError as error:
            raise NotChangeable(f"the folder {path} cannot be made: {error.strerror}") from None
    return missing


def _replace_file(settings: SettingsContent, content: bytes) -> None:
    descriptor, name = tempfile.mkstemp(prefix=f".{settings.path.name}.", dir=settings.path.parent)
    part = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as out:
            out.write(content)
            out.flush()
            os.fchmod(out.fileno(), settings.mode)
            os.fsync(out.fileno())
        if settings.content is not None:
            with contextlib.suppress(OSError):  # for root: the file keeps its owner
                status = settings.path.stat()
                os.chown(part, status.st_uid, status.st_gid)
        _require_unchanged(settings)
        part.rename(settings.path)
    finally:
        part.unlink(missing_ok=True)


def _require_unchanged(settings: SettingsContent) -> None:
    try:
        now: bytes | None = settings.path.read_bytes()
    except FileNotFoundError:
        now = None
    if now != settings.content:
        raise ChangedMeanwhile
