"""Which start of the machine this is: after a reboot, pids and start times begin anew and may come again.

Light: runners import it, and they live as long as their agents.
"""

from __future__ import annotations

import os
from functools import cache

_FILE = "/proc/sys/kernel/random/boot_id"


@cache
def this_one() -> str:
    """Short, and the same for as long as the machine runs; empty where the system does not say."""
    try:
        descriptor = os.open(_FILE, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return os.read(descriptor, 8).decode("ascii", "replace")
    finally:
        os.close(descriptor)


def since(ticks: str) -> str:
    """A start time that the system counts from the start of the machine, as one that never comes again."""
    boot = this_one()
    return f"{ticks}@{boot}" if boot else ticks


def is_earlier(started: str | None) -> bool:
    """Whether a start time is of a time before the machine was last started."""
    _, at, boot = (started or "").partition("@")
    return bool(at) and boot != this_one()
