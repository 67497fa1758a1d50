"""A data directory: where it is, and the lock by which one server at a time has it."""

from __future__ import annotations

import errno
import fcntl
import os
import time
from pathlib import Path
from types import TracebackType

from maestro import errors, limits
from maestro.store.layout import LOCK, SOCKET

_RETRY_SECONDS = 0.02


def prepare(home: Path) -> None:
    """Make the directory, for its owner's eyes only."""
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise errors.StorageReadOnly(f"{home} cannot be made: {error.strerror}.") from error
    if not os.access(home, os.R_OK | os.W_OK | os.X_OK):
        hint = "Check who owns it, or set another MAESTRO_HOME."
        raise errors.StorageReadOnly(f"{home} cannot be written.", hint=hint)


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
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)
        return self

    def _take(self) -> None:
        """Get the lock; a server that is just stopping, and has taken its socket away, is waited for."""
        until = time.monotonic() + limits.stop_seconds_max
        while True:
            try:
                return fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                if error.errno not in (errno.EAGAIN, errno.EACCES):
                    raise errors.StorageFailed(f"{self._home} cannot be locked: {error.strerror}.") from error
            if (self._home / SOCKET).exists() or time.monotonic() > until:
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
