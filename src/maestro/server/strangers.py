"""Bound the number of connections without a known caller, because each connection takes a file descriptor."""

from __future__ import annotations

import resource
from collections import OrderedDict
from typing import Protocol

from maestro.core import limits


class ClosableConnection(Protocol):
    """A connection that can be closed."""

    def turn_away(self) -> None: ...


class UnidentifiedConnections:
    """The newest connections without a caller. An honest client sends its token at once and leaves this set."""

    def __init__(self, *, connections_max: int) -> None:
        self._most = connections_max
        self._connections: OrderedDict[ClosableConnection, None] = OrderedDict()

    def add(self, connection: ClosableConnection) -> None:
        """Add a new connection, and close the oldest connection if too many are open."""
        self._connections[connection] = None
        if len(self._connections) > self._most:
            oldest, _ = self._connections.popitem(last=False)
            oldest.turn_away()

    def discard(self, connection: ClosableConnection) -> None:
        """Forget a connection that has a caller now or is closed."""
        self._connections.pop(connection, None)


def unidentified_max() -> int:
    """Return how many connections without a caller may be open, given the file limit of the process."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files == resource.RLIM_INFINITY:
        return limits.http_unidentified_connections_max
    return max(1, min(limits.http_unidentified_connections_max, files // limits.http_unidentified_files_divisor))
