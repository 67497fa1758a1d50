"""Save the output of a command in a file. The output goes to a second file first: no reader sees half a page."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from maestro.client import main, real_paths
from maestro.client.live.answer import run_command
from maestro.wire import exit_codes


def run(*, file: str, arguments: list[str], folder: str | None = None) -> int:
    """Run the command, and write its output. `folder` is the real folder in which a session may write."""
    code, out, err = run_command(arguments)
    if code:
        main.write_all(2, err)
        return code
    path = Path(file)
    try:
        _write_in_folder(path, out, folder)
    except OSError as error:
        raise main.CommandEnded(exit_codes.FAILED, f"cannot write {file}: {error.strerror}") from None
    main.write_all(1, os.fsencode(f"{path.absolute()}\n"))
    return 0


def _write_in_folder(path: Path, data: bytes, folder: str | None) -> None:
    """Write a new file in the open folder and rename it: after the check of the folder, no link is followed."""
    folder_fd = os.open(folder or path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        if folder is not None and real_paths.real_path(folder_fd, os.fsencode(folder)) != os.fsencode(folder):
            raise OSError(0, "the folder was replaced by a link")
        part = f"{path.name}.part-{os.getpid()}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        try:
            with os.fdopen(os.open(part, flags, 0o666, dir_fd=folder_fd), "wb") as file:
                file.write(data)
            os.rename(part, path.name, src_dir_fd=folder_fd, dst_dir_fd=folder_fd)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(part, dir_fd=folder_fd)
            raise
    finally:
        os.close(folder_fd)
