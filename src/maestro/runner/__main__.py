"""`python -m maestro.runner`: reads its order from standard input, lets go of everything, and runs the agent."""

from __future__ import annotations

import fcntl
import os
import sys

from maestro.runner import order
from maestro.runner.supervise import Runner

LOCK = "runner.lock"


def main() -> int:
    return begin(sys.stdin.buffer.read())


def begin(data: bytes) -> int:
    """Run the agent that an order names, to its end."""
    given = order.read(data)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.chdir(given.folder)
    if not _alone():
        return 0  # another runs this session already
    return Runner(given).run()


def _alone() -> bool:
    """One runner per session: whoever has the lock, which the system lets go of when it ends."""
    descriptor = os.open(LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True  # the descriptor stays open for as long as this process lives


if __name__ == "__main__":
    sys.exit(main())
