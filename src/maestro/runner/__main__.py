"""`python -m maestro.runner`: read the order from standard input, detach from the server, and run the program."""

from __future__ import annotations

import fcntl
import json
import os
import sys
import time

from maestro.runner.main_loop import Runner
from maestro.wire import runner_folder, runner_order

_RETRY_SECONDS = 0.02
_LOCK_SECONDS_MAX = 30.0


def main() -> None:
    run_order(sys.stdin.buffer.read())


def run_order(data: bytes) -> None:
    """Run the program that an order names, to its end."""
    order = runner_order.decode_order(data)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.close(null)
    os.chdir(order.folder)
    if _take_lock(order.epoch):  # otherwise another runner runs this start of the session, or has run it
        Runner(order).run_to_end()


def _take_lock(epoch: int) -> bool:
    """Take the session's lock; return whether this runner may run this start (`epoch`) of the session.

    A session has one runner: the holder of the lock, which the system releases when the runner ends. A restarted
    session waits for its last runner, which may be about to end. It does not wait for a runner of the same start.
    """
    descriptor = os.open(runner_folder.LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    ends = time.monotonic() + _LOCK_SECONDS_MAX
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            if _last_epoch() >= epoch or time.monotonic() > ends:
                return False
            time.sleep(_RETRY_SECONDS)
            continue
        return _last_epoch() < epoch  # the descriptor, and with it the lock, stays open until this process ends


def _last_epoch() -> int:
    """Return the number of the last start of the session; 0 if the session was not started yet."""
    try:
        with open(runner_folder.IDENTITY, "rb") as file:
            return int(json.load(file).get("epoch", 1))
    except (OSError, ValueError):
        return 0


if __name__ == "__main__":
    main()
