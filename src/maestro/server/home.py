"""A data directory: where it is, and the lock by which one server at a time has it."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path
from types import TracebackType

from maestro import errors
from maestro.store.layout import LOCK


def prepare(home: Path) -> None:
    """Make the directory, for its owner's eyes only."""
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise errors.StorageReadOnly(f"{home} cannot be made: {error.strerror}.") from error


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
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.read(self._descriptor, 32).decode(errors="replace").strip()
            os.close(self._descriptor)
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                raise errors.StorageFailed(f"{self._home} cannot be locked: {error.strerror}.") from error
            raise errors.DataInUse(
                f"Another server (pid {holder or '?'}) uses {self._home}.",
                hint="Stop it with `maestro down`, or set another MAESTRO_HOME.",
                data={"pid": holder},
            ) from None
        os.ftruncate(self._descriptor, 0)
        os.write(self._descriptor, f"{os.getpid()}\n".encode())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._descriptor)
