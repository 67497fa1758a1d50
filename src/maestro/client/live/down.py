"""Waits until a server that was told to stop has ended and let go of its data directory."""

from __future__ import annotations

import time
from pathlib import Path

from maestro.client import server_locks, thin

_SECONDS_MAX = 10.0
_LOOK_SECONDS = 0.02


def run(*, home: str, pid: int, said: str) -> int:
    """Print what the server said once the server has ended. Fail if the server takes too long."""
    ends = time.monotonic() + _SECONDS_MAX
    while server_locks.server_pid(Path(home)) == pid:
        if time.monotonic() > ends:
            raise thin.Ended(
                thin.FAILED,
                f"the server (pid {pid}) was told to stop and has not ended within {_SECONDS_MAX:g} s\n"
                f"if it does not end: kill -KILL {pid}",
            )
        time.sleep(_LOOK_SECONDS)
    thin.put(1, said.encode())
    return 0
