"""Connections that have not shown a caller: so many at most, so that they take no files from those that have."""

from __future__ import annotations

import resource
from collections import OrderedDict
from typing import Protocol

from maestro.core import limits


class Connection(Protocol):
    """A connection that can be closed."""

    def turn_away(self) -> None: ...


class Strangers:
    """Keep the newest connections without a caller; a client that means well sends its token at once."""

    def __init__(self, *, most: int) -> None:
        self._most = most
        self._waiting: OrderedDict[Connection, None] = OrderedDict()

    def add(self, connection: Connection) -> None:
        """Take in a new connection, and close the oldest one if there are too many."""
        self._waiting[connection] = None
        if len(self._waiting) > self._most:
            oldest, _ = self._waiting.popitem(last=False)
            oldest.turn_away()

    def discard(self, connection: Connection) -> None:
        """Forget a connection: it has shown a caller, or it is closed."""
        self._waiting.pop(connection, None)


def strangers_max() -> int:
    """Return how many connections without a caller the files that this process may open leave room for."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files == resource.RLIM_INFINITY:
        return limits.http_strangers_max
    return max(1, min(limits.http_strangers_max, files // limits.http_strangers_files_divisor))
