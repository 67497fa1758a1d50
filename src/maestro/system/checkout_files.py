"""Read and write files below a folder that agents can write, without following symbolic links.

Every folder below the top folder is opened by its name inside its parent. So an agent cannot redirect Maestro with a
link in place of a folder or file, even while Maestro reads or writes.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from io import BufferedReader
from pathlib import PurePosixPath

from maestro.core.errors import Invalid
from maestro.system import umasks

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_MODE = 0o644  # of a new file, before the person's umask


@contextlib.contextmanager
def open_folder(top: str, below: str = ".", *, creates: bool = False) -> Iterator[int]:
    """Open the folder `below` inside the folder `top` and give its descriptor.

    With `creates`, create missing folders.
    """
    folder = os.open(top, _FOLDER)
    try:
        for part in PurePosixPath(below).parts:
            folder = _open_subfolder(folder, part, creates=creates, shown=f"{top}/{below}")
        yield folder
    finally:
        os.close(folder)


def read_file(top: str, name: str, *, bytes_max: int) -> bytes | None:
    """Return the first `bytes_max` bytes of the file `name` below `top`; None if the file does not exist.

    Refuse a link and every file that is not regular.
    """
    try:
        with open_file(top, name) as file:
            return file.read(bytes_max)
    except FileNotFoundError:
        return None


def open_file(top: str, name: str) -> BufferedReader:
    """Open the regular file `name` below `top` for reading. Never wait for a pipe, and follow no link."""
    with open_folder(top, str(PurePosixPath(name).parent)) as folder:
        return _open_regular(folder, PurePosixPath(name).name, shown=f"{top}/{name}")


def write_file(top: str, name: str, data: bytes) -> None:
    """Replace the whole file `name` below `top`. Refuse a link as the file or as a folder of its path."""
    path = PurePosixPath(name)
    with open_folder(top, str(path.parent), creates=True) as folder:
        mode = _mode_of(folder, path.name, shown=f"{top}/{name}")
        part = f".{path.name}.{secrets.token_hex(8)}.part"
        descriptor = os.open(part, _CREATE, mode, dir_fd=folder)
        try:
            with os.fdopen(descriptor, "wb") as file:
                os.fchmod(descriptor, mode)
                file.write(data)
            os.rename(part, path.name, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(part, dir_fd=folder)
            raise


def _open_subfolder(folder: int, part: str, *, creates: bool, shown: str) -> int:
    """Open the folder `part` inside `folder`, and close `folder`. After a failure the caller closes `folder`."""
    if part in {"..", "/"}:
        raise Invalid(f"{shown} does not lie inside its folder.")
    is_new = False
    if creates:
        with contextlib.suppress(FileExistsError):
            os.mkdir(part, dir_fd=folder)
            is_new = True
    try:
        found = os.open(part, _FOLDER, dir_fd=folder)
    except OSError:
        _refuse_link(folder, part, shown=shown)
        raise
    if is_new:
        os.fchmod(found, umasks.person_mode(0o777))
    os.close(folder)
    return found


def _open_regular(folder: int, name: str, *, shown: str) -> BufferedReader:
    try:
        descriptor = os.open(name, _READ, dir_fd=folder)
    except OSError:
        _refuse_link(folder, name, shown=shown)
        raise
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    raise _not_regular_error(shown)


def _mode_of(folder: int, name: str, *, shown: str) -> int:
    """Return the mode for the written file: the mode of the file in its place. Refuse all but a regular file."""
    try:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return umasks.person_mode(_MODE)
    _refuse_link(folder, name, shown=shown)
    if not stat.S_ISREG(mode):
        raise _not_regular_error(shown)
    return stat.S_IMODE(mode)


def _refuse_link(folder: int, name: str, *, shown: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        if stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            raise Invalid(
                f"{shown} cannot be used: {name} is a symbolic link, and Maestro follows no links here.",
                hint=f"Replace the link {name} with a file or folder.",
            )


def _not_regular_error(shown: str) -> Invalid:
    return Invalid(f"{shown} is not a regular file.", hint=f"Move {shown} away, then try again.")
