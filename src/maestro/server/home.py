"""A data directory: where it is, and the lock by which one server at a time has it."""

from __future__ import annotations

import errno
import fcntl
import os
import time
from pathlib import Path
from types import TracebackType

from maestro.core import errors, limits
from maestro.store.layout import DATABASE, LOCK, SOCKET
from maestro.system import private_home

_RETRY_SECONDS = 0.02
_LOOK_SECONDS_MAX = 0.5  # that a command may hold the lock only to learn whether a server does


def prepare(home: Path) -> None:
    """Make the directory, for its owner's eyes only; refuse one that others can read or change."""
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise errors.StorageReadOnly(f"{home} cannot be made: {error.strerror}.") from error
    if not os.access(home, os.R_OK | os.W_OK | os.X_OK):
        hint = "Check who owns it, or set another MAESTRO_HOME."
        raise errors.StorageReadOnly(f"{home} cannot be written.", hint=hint)
    try:
        private_home.require_private(home)
        private_home.close_files(home)
    except private_home.NotPrivate as error:
        raise errors.StorageExposed(error.message, hint=error.hint) from error


def require_data(home: Path) -> None:
    """Refuse a data directory without a database: only the person's own command makes a new one."""
    if not (home / DATABASE).is_file():
        hint = "The person makes a new one with: maestro up"
        raise errors.StorageGone(f"There is no database in {home} any more.", hint=hint)


class HomeLock:
    """Held for as long as a server uses a data directory; the system lets go of it when the process ends."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._descriptor = -1

    def __enter__(self) -> HomeLock:
        try:
            self._descriptor = os.open(self._home / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise errors.StorageReadOnly(f"{self._home} cannot be written: {error.strerror}.") from error
        try:
            self._take()
        except errors.MaestroError:
            os.close(self._descriptor)
            raise
        os.pwrite(self._descriptor, b"%-10d\n" % os.getpid(), 0)  # of one width: a reader never finds half of it
        return self

    def _take(self) -> None:
        """Take the lock. Wait for a server that is stopping, and for a command that only looks at the lock."""
        began = time.monotonic()
        while True:
            try:
                return fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                if error.errno not in (errno.EAGAIN, errno.EACCES):
                    raise errors.StorageFailed(f"{self._home} cannot be locked: {error.strerror}.") from error
            is_stopping = not (self._home / SOCKET).exists()
            if time.monotonic() - began > (limits.stop_seconds_max if is_stopping else _LOOK_SECONDS_MAX):
                raise self._in_use()
            time.sleep(_RETRY_SECONDS)

    def _in_use(self) -> errors.DataInUse:
        holder = os.pread(self._descriptor, 32, 0).decode(errors="replace").strip()
        return errors.DataInUse(
            f"Another server (pid {holder or '?'}) uses {self._home}.",
            hint="Stop it with `maestro down`, or set another MAESTRO_HOME.",
            data={"pid": holder},
        )

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._descriptor)
