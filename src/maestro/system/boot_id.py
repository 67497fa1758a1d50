"""The id of the machine's present boot. After a reboot, pids and start times of processes can repeat.

The module imports little, because runners import it and live as long as their agents.
"""

from __future__ import annotations

import os
from functools import cache

_FILE = "/proc/sys/kernel/random/boot_id"


@cache
def current_boot_id() -> str:
    """Return a short id that stays the same until the next boot; empty if the system has none."""
    try:
        descriptor = os.open(_FILE, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return os.read(descriptor, 8).decode("ascii", "replace")
    finally:
        os.close(descriptor)


def unique_start_time(ticks: str) -> str:
    """Return a start time, counted from the boot of the machine, as a text that is unique over all boots."""
    boot = current_boot_id()
    return f"{ticks}@{boot}" if boot else ticks


def is_from_earlier_boot(started: str | None) -> bool:
    """Return whether a start time belongs to an earlier boot of the machine."""
    _, at, boot = (started or "").partition("@")
    return bool(at) and boot != current_boot_id()
