"""The folder of all sessions in the data directory, which earlier versions named `runs`.

A live runner of an earlier version, its program and their settings files hold absolute paths below `runs`. While such
a runner lives, `runs` is a symbolic link to the folder.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

from maestro.services.runners.runners import Runners
from maestro.system import small_files
from maestro.wire import runner_folder


def adopt_sessions_folder(home: Path) -> None:
    """Give the folder of an earlier version its present name, and keep the earlier name as a link while needed.

    The caller holds the lock of the data directory. A start that was killed in the middle is repaired here too.
    """
    link = home / runner_folder.EARLIER_SESSIONS
    if link.is_dir() and not _is_own_link(link):
        _move_folder(link, home / runner_folder.SESSIONS)
    if _has_earlier_runner(Runners(home)):
        if not os.path.lexists(link):
            link.symlink_to(runner_folder.SESSIONS)
    elif _is_own_link(link):
        link.unlink()
    else:
        return
    small_files.flush_folder(home)


def _is_own_link(path: Path) -> bool:
    """Return whether Maestro made the link. A person may have put the folder on another disk with a link."""
    return path.is_symlink() and str(path.readlink()) == runner_folder.SESSIONS


def _move_folder(earlier: Path, present: Path) -> None:
    """Rename the folder, or the person's link to it.

    If both folders exist, an earlier version ran again in between: move its sessions over.
    """
    if not present.exists():
        _rename_or_link(earlier, present)
    elif not present.samefile(earlier):
        for folder in sorted(earlier.iterdir()):
            _move_session(folder, present / folder.name)
        _remove_earlier(earlier)


def _move_session(folder: Path, target: Path) -> None:
    if target.exists():
        if target.samefile(folder):
            return  # an earlier start has linked the folder
        target.rename(target.with_name(f"{folder.name}.before-{target.stat().st_mtime_ns}"))
    _rename_or_link(folder, target)


def _rename_or_link(folder: Path, target: Path) -> None:
    """Rename the folder, or link a folder that cannot be renamed: it is on another disk, or a disk is mounted there.

    A copy is no substitute. A live runner holds the lock, the socket and the files of the original folder.
    """
    try:
        folder.rename(target)
    except OSError as error:
        if error.errno not in (errno.EXDEV, errno.EBUSY):
            raise
        target.symlink_to(folder.resolve())


def _remove_earlier(earlier: Path) -> None:
    """Remove the folder or the person's link. A folder that holds linked sessions stays."""
    if earlier.is_symlink():
        earlier.unlink()
    elif not any(earlier.iterdir()) and not earlier.is_mount():
        earlier.rmdir()


def _has_earlier_runner(runners: Runners) -> bool:
    """Return whether a runner of an earlier version lives: its identity file does not name the program as such."""
    return any((note := runners.read_note(id)) is None or note.is_earlier for id in runners.live_sessions())
