"""What a command prints, kept in a file: written beside it first, so that there is never half a page."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from maestro.client import opened, thin
from maestro.client.live.answer import answer


def run(*, file: str, words: list[str], folder: str | None = None) -> int:
    """Ask the server for it, and write it down. `folder`: the real folder that the server allowed a session."""
    code, out, err = answer(words)
    if code:
        thin.put(2, err)
        return code
    path = Path(file)
    try:
        _write(path, out, folder)
    except OSError as error:
        raise thin.Ended(thin.FAILED, f"cannot write {file}: {error.strerror}") from None
    thin.put(1, os.fsencode(f"{path.absolute()}\n"))
    return 0


def _write(path: Path, data: bytes, folder: str | None) -> None:
    """Write a new file in the open folder and rename it, so that no link is followed after the folder was checked."""
    place = os.open(folder or path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        if folder is not None and opened.real_path(place, os.fsencode(folder)) != os.fsencode(folder):
            raise OSError(0, "its folder was replaced by a link")
        part = f"{path.name}.part-{os.getpid()}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        try:
            with os.fdopen(os.open(part, flags, 0o666, dir_fd=place), "wb") as to:
                to.write(data)
            os.rename(part, path.name, src_dir_fd=place, dst_dir_fd=place)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(part, dir_fd=place)
            raise
    finally:
        os.close(place)
