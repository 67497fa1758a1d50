"""Bound the connections of a server: each takes a file descriptor, and the server needs descriptors of its own."""

from __future__ import annotations

import resource
from collections import OrderedDict
from typing import Protocol

from maestro.core import errors, limits


def refuse_high_descriptor(descriptor: int) -> errors.OutOfDescriptors | None:
    """Return the error for a new connection whose descriptor is too high, or None.

    The system gives each connection the lowest free number. The highest numbers stay free for files and programs.
    """
    descriptors_max = _descriptors_max()
    if descriptors_max is None or descriptor < descriptors_max - limits.descriptors_reserved:
        return None
    return errors.OutOfDescriptors(hint=errors.DESCRIPTORS_HINT, data={"descriptors_max": descriptors_max})


class ClosableConnection(Protocol):
    """A connection that can be closed."""

    def turn_away(self) -> None: ...


class UnidentifiedConnections:
    """The newest connections without a caller. An honest client sends its token at once and leaves this set."""

    def __init__(self, *, connections_max: int) -> None:
        self._connections_max = connections_max
        self._connections: OrderedDict[ClosableConnection, None] = OrderedDict()

    def add(self, connection: ClosableConnection) -> None:
        """Add a new connection, and close the oldest connection if too many are open."""
        self._connections[connection] = None
        if len(self._connections) > self._connections_max:
            oldest, _ = self._connections.popitem(last=False)
            oldest.turn_away()

    def discard(self, connection: ClosableConnection) -> None:
        """Forget a connection that has a caller now or is closed."""
        self._connections.pop(connection, None)


def unidentified_max() -> int:
    """Return how many connections without a caller may be open, given the file limit of the process."""
    descriptors_max = _descriptors_max()
    if descriptors_max is None:
        return limits.http_unidentified_connections_max
    share = descriptors_max // limits.http_unidentified_files_divisor
    return max(1, min(limits.http_unidentified_connections_max, share))


def _descriptors_max() -> int | None:
    """Return how many descriptors this process may have, or None without a limit."""
    descriptors_max, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if descriptors_max == resource.RLIM_INFINITY else descriptors_max
