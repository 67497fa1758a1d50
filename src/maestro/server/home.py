"""Prepare and lock a data directory. One process at a time holds the lock."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path
from types import TracebackType

from maestro.core import errors, limits
from maestro.store.layout import DATABASE, LOCK, SOCKET
from maestro.system import private_home

_RETRY_SECONDS = 0.02
_DIRECTORY_HINT = "Check the owner of the directory, or set another MAESTRO_HOME."
_PROBE_SECONDS_MAX = 0.5  # a command holds the lock for at most this time, to find out whether a server runs


def prepare_home(home: Path) -> None:
    """Create the directory with access for its owner only; refuse a directory that other users can read or change."""
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise errors.StorageReadOnly(f"{home} cannot be created: {error.strerror}.", hint=_DIRECTORY_HINT) from error
    if not os.access(home, os.R_OK | os.W_OK | os.X_OK):
        raise errors.StorageReadOnly(f"The server may not read and change {home}.", hint=_DIRECTORY_HINT)
    try:
        private_home.require_private(home)
        private_home.close_files(home)
    except private_home.NotPrivate as error:
        raise errors.StorageExposed(error.message, hint=error.hint) from error


def require_data(home: Path) -> None:
    """Refuse a data directory without a database: only the person's own command creates a new database."""
    if not (home / DATABASE).is_file():
        hint = "The person creates a new database with: maestro up"
        raise errors.StorageGone(f"{home} no longer contains a database.", hint=hint)


class HomeLock:
    """The lock that a process holds while it uses a data directory. The end of the process frees the lock."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._descriptor = -1

    def __enter__(self) -> HomeLock:
        try:
            self._descriptor = os.open(self._home / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            problem = f"{self._home} cannot be written: {error.strerror}."
            raise errors.StorageReadOnly(problem, hint=_DIRECTORY_HINT) from error
        try:
            self._acquire()
        except errors.MaestroError:
            os.close(self._descriptor)
            raise
        # The number has a fixed width, because a reader must never find half a number.
        os.pwrite(self._descriptor, b"%-10d\n" % os.getpid(), 0)
        return self

    def _acquire(self) -> None:
        """Acquire the lock. Wait for a holder that starts or stops, and for a command that probes the lock."""
        started_at = time.monotonic()
        while True:
            try:
                return fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                pass  # another process holds the lock
            except OSError as error:
                problem = f"{self._home} cannot be locked: {error.strerror}."
                raise errors.StorageFailed(problem, hint=_DIRECTORY_HINT) from error
            has_no_socket = not (self._home / SOCKET).exists()  # the holder starts, stops, or is no server
            if time.monotonic() - started_at > (limits.stop_seconds_max if has_no_socket else _PROBE_SECONDS_MAX):
                raise self._in_use_error()
            time.sleep(_RETRY_SECONDS)

    def _in_use_error(self) -> errors.DataInUse:
        holder = os.pread(self._descriptor, 32, 0).decode(errors="replace").strip()
        return errors.DataInUse(
            f"Another process (pid {holder or '?'}) uses {self._home}.",
            hint="Stop a server with `maestro down`, wait for a restore or compaction, or set another MAESTRO_HOME.",
            data={"pid": holder},
        )

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._descriptor)
