"""`python -m maestro.runner`: reads its order from standard input, lets go of everything, and runs the agent."""

from __future__ import annotations

import fcntl
import json
import os
import sys
import time

from maestro.runner import order
from maestro.runner.supervise import Runner

LOCK = "runner.lock"
_LOOKS_AGAIN_SECONDS = 0.02
_WAITS_SECONDS = 30.0


def main() -> int:
    return begin(sys.stdin.buffer.read())


def begin(data: bytes) -> int:
    """Run the agent that an order names, to its end."""
    given = order.read(data)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.chdir(given.folder)
    if not _alone(given.epoch):
        return 0  # another runs this session already, or has
    return Runner(given).run()


def _alone(epoch: int) -> bool:
    """One runner per session: whoever has the lock, which the system lets go of when it ends.

    A session that is started again may find its last runner about to end: it waits for that. Not so if one of the
    same start was faster.
    """
    descriptor = os.open(LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    ends = time.monotonic() + _WAITS_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            if _last_epoch() >= epoch or time.monotonic() > ends:
                return False
            time.sleep(_LOOKS_AGAIN_SECONDS)
            continue
        return _last_epoch() < epoch  # the descriptor stays open for as long as this process lives


def _last_epoch() -> int:
    """Which start of the session has been carried out; 0 if none was."""
    try:
        with open(order.NOTE, "rb") as file:
            return int(json.load(file).get("epoch", 1))
    except (OSError, ValueError):
        return 0


if __name__ == "__main__":
    sys.exit(main())
