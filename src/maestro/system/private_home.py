"""Check that the data directory belongs to the user and is closed to other users, and repair it.

The directory contains the files `token` and `secret`. A user that can write to the directory can replace them.
"""

from __future__ import annotations

import fcntl
import os
import pwd
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

OTHERS = 0o077
OTHERS_WRITE = 0o022
OTHERS_ENTER = 0o011
SECRETS = ("token", "secret")
# A file that tells the next server about exposed secrets: the server creates new ones, and voids all session tokens.
EXPOSED_MARK = "secrets-exposed"
LOCK_FILE = "maestro.lock"
WORKTREES_FOLDER = "worktrees"  # worktrees: the person's files, with the modes that the person chose
ENTRIES_MAX = 10_000
FIX_COMMAND = "maestro doctor --fix"


class NotPrivate(Exception):
    """The data directory, or a file in it, is open to other users; `hint` says how to repair it."""

    def __init__(self, message: str, hint: str) -> None:
        self.message = message
        self.hint = hint
        super().__init__(message)


@dataclass(frozen=True)
class ExposedPath:
    """A path that other users could read, change or replace."""

    path: Path
    why: str
    is_foreign: bool = False  # the path belongs to another user: only its owner or root can repair it
    is_secret: bool = False  # a token or secret that must be replaced


def require_private(home: Path) -> None:
    """Refuse a data directory that is open to other users. Close an empty directory of the user instead."""
    found = home.stat()
    if found.st_uid != os.geteuid():
        raise _foreign_error(home, found)
    if stat.S_IMODE(found.st_mode) & OTHERS:
        if any(home.iterdir()):
            why = f"The data directory {home} is open to other users ({_mode_and_owner(found)})."
            raise NotPrivate(
                why, f"Close the directory, and replace the secrets that other users could have read: {FIX_COMMAND}"
            )
        home.chmod(0o700)


def close_files(home: Path) -> None:
    """Close the directory's files to other users.

    Refuse foreign files, and secrets that other users could have read.
    """
    for path in sorted(home.iterdir()):
        found = path.lstat()
        if found.st_uid not in (os.geteuid(), 0):
            raise _foreign_error(path, found)
        if path.name in SECRETS and (why := _why_untrusted(path, found)):
            raise NotPrivate(f"{path} {why}.", f"Replace the secret: {FIX_COMMAND}")
        is_own = stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid()
        if is_own and stat.S_IMODE(found.st_mode) & OTHERS:
            path.chmod(stat.S_IMODE(found.st_mode) & ~OTHERS)


def find_exposed(home: Path) -> list[ExposedPath]:
    """Return the paths in a data directory that other users could read, change or replace."""
    try:
        found = home.stat()
    except OSError:
        return []
    exposed: list[ExposedPath] = []
    if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & OTHERS:
        exposed.append(ExposedPath(home, _why_open(found), is_foreign=found.st_uid != os.geteuid()))
    is_replaceable = found.st_uid != os.geteuid() or bool(stat.S_IMODE(found.st_mode) & OTHERS_WRITE)
    for path in _reachable_paths(home):
        exposed += _check_file(path, is_replaceable=is_replaceable and path.parent == home)
    return exposed


def repair_exposed(home: Path, exposed: list[ExposedPath]) -> None:
    """Close every path of the user, and remove exposed secrets: the next server creates new secrets.

    The mark file comes first. So the server replaces the secrets even if the repair is interrupted.
    """
    secrets = [entry.path for entry in exposed if entry.is_secret]
    if secrets:
        os.close(os.open(home / EXPOSED_MARK, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
    home.chmod(0o700)
    for path in secrets:
        path.unlink(missing_ok=True)
    for entry in exposed:
        if not entry.is_foreign and not entry.is_secret and not entry.path.is_symlink():
            entry.path.chmod(stat.S_IMODE(entry.path.stat().st_mode) & ~OTHERS)


def is_in_use(home: Path) -> bool:
    """Return whether a server holds the lock of the data directory."""
    try:
        descriptor = os.open(home / LOCK_FILE, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def _reachable_paths(home: Path) -> Iterator[Path]:
    """Yield the entries of the directory and of all its folders that other users may enter."""
    pending, seen = [home], 0
    while pending:
        folder = pending.pop()
        try:
            entries = sorted(folder.iterdir())
        except OSError:
            continue
        for path in entries:
            if (seen := seen + 1) > ENTRIES_MAX:
                return
            yield path
            if _may_be_entered(path) and path.name != WORKTREES_FOLDER:
                pending.append(path)


def _may_be_entered(path: Path) -> bool:
    try:
        mode = path.lstat().st_mode
    except OSError:
        return False
    return stat.S_ISDIR(mode) and bool(mode & OTHERS_ENTER)


def _check_file(path: Path, *, is_replaceable: bool) -> list[ExposedPath]:
    try:
        found = path.lstat()
    except OSError:
        return []
    is_foreign = found.st_uid not in (os.geteuid(), 0)
    if path.name in SECRETS and (why := _why_untrusted(path, found)):
        return [ExposedPath(path, why, is_secret=True)]
    if path.name in SECRETS and is_replaceable:
        return [ExposedPath(path, "was in a directory that other users could write to", is_secret=True)]
    is_plain = stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)
    if is_foreign or (is_plain and stat.S_IMODE(found.st_mode) & OTHERS and path.name != WORKTREES_FOLDER):
        return [ExposedPath(path, _why_open(found), is_foreign=is_foreign)]
    return []


def _why_untrusted(path: Path, found: os.stat_result) -> str:
    """Return why the file of a secret cannot be trusted; empty if the file can be trusted."""
    if stat.S_ISLNK(found.st_mode):
        return "is a symbolic link"
    if not stat.S_ISREG(found.st_mode):
        return "is not a plain file"
    is_open = found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & OTHERS
    return _why_open(found) if is_open else ""


def _why_open(found: os.stat_result) -> str:
    if found.st_uid != os.geteuid():
        return f"belongs to another user ({_mode_and_owner(found)})"
    return f"is open to other users ({_mode_and_owner(found)})"


def _mode_and_owner(found: os.stat_result) -> str:
    return f"mode {stat.S_IMODE(found.st_mode):04o}, owner {_user_name(found.st_uid)}"


def _foreign_error(path: Path, found: os.stat_result) -> NotPrivate:
    why = f"{path} belongs to another user ({_mode_and_owner(found)})."
    me = _user_name(os.geteuid())
    return NotPrivate(why, f"Set another MAESTRO_HOME, or, if you trust the content: chown {me} {path}")


def _user_name(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)
