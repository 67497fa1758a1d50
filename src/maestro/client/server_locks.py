"""Find a server and its supervisor by the locks that both hold in the data directory.

A lock is safer than the socket: the system releases a lock when its process ends, and a deleted lock file does not
release the lock.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from maestro import supervisor

SERVER, SUPERVISOR = "maestro.lock", supervisor.LOCK_FILE


def lock_holder(directory: Path, name: str) -> int | None:
    """Return the pid of the process that holds a lock; 0 if the pid is unreadable, None if the lock is free."""
    try:
        lock = os.open(directory / name, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        written = os.pread(lock, 32, 0).strip()
        return int(written) if written.isdigit() else 0
    finally:
        os.close(lock)
    return None


def server_pid(directory: Path) -> int | None:
    """Return the pid of the server of a data directory; None if no server runs."""
    return lock_holder(directory, SERVER)


def supervisor_pid(directory: Path) -> int | None:
    """Return the pid of the supervisor that keeps a server running; None if no supervisor does."""
    return lock_holder(directory, SUPERVISOR)


def is_kept_running(directory: Path) -> bool:
    """Return whether a server runs, or its supervisor is starting the next one."""
    return supervisor_pid(directory) is not None or server_pid(directory) is not None
