"""Wait until a stopping server has ended and released its data directory."""

from __future__ import annotations

import time
from pathlib import Path

from maestro.client import main, server_locks
from maestro.wire import exit_codes

_SECONDS_MAX = 20.0  # longer than a server waits for its last commands
_LOOK_SECONDS = 0.02


def run(*, home: str, pid: int, text: str) -> int:
    """Print the server's message `text` after the server has ended. Fail if the server takes too long.

    Without `home` the function does not wait: a path that is not UTF-8 cannot be sent.
    """
    ends = time.monotonic() + _SECONDS_MAX
    while home and server_locks.server_pid(Path(home)) == pid:
        if time.monotonic() > ends:
            raise main.CommandEnded(exit_codes.FAILED, _remedy(Path(home), pid))
        time.sleep(_LOOK_SECONDS)
    main.write_all(1, text.encode())
    return 0


def _remedy(home: Path, pid: int) -> str:
    """Return how to end the server. A supervisor restarts a killed server, but ends the server on SIGTERM."""
    supervisor = server_locks.supervisor_pid(home)
    command = f"kill {supervisor}" if supervisor else f"kill -KILL {pid}"
    return (
        f"the server (pid {pid}) was asked to stop and has not ended within {_SECONDS_MAX:g} s\n"
        f"to end the server by force: {command}"
    )
