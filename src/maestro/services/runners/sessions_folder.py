"""The folder of all sessions in the data directory, which earlier versions named `runs`.

A live runner of an earlier version, its program and their settings files hold absolute paths below `runs`. While such
a runner lives, `runs` is a symbolic link to the folder.
"""

from __future__ import annotations

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
        if not link.is_symlink():
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
        earlier.rename(present)
        return
    for folder in sorted(earlier.iterdir()):
        target = present / folder.name
        if target.exists():
            target.rename(present / f"{folder.name}.before-{target.stat().st_mtime_ns}")
        folder.rename(target)
    earlier.rmdir()


def _has_earlier_runner(runners: Runners) -> bool:
    """Return whether a runner of an earlier version lives: its identity file does not name the program as such."""
    return any((note := runners.read_note(id)) is None or note.is_earlier for id in runners.live_sessions())
