"""Count actions within a minute, in memory. A restart of the server clears all counts."""

from __future__ import annotations

import math
from collections.abc import Hashable
from datetime import datetime, timedelta

from maestro.core import limits

_MINUTE = timedelta(minutes=1)


class RateWindow:
    """The count of a key within a minute. Mutable for speed, because every message counts in three windows."""

    __slots__ = ("count", "most", "since", "until")

    def __init__(self, since: datetime, most: float) -> None:
        self.since = since
        self.until = since + _MINUTE
        self.most = most
        self.count = 0

    def reduce_count(self) -> None:
        """Reduce the count, because the counted work was undone."""
        self.count -= 1


class Rate:
    """A limit for the count of each key within a minute; 0 means no limit."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._windows: dict[Hashable, RateWindow] = {}

    def current_window(self, key: Hashable, at: datetime) -> RateWindow:
        """Return the present window of a key. The caller compares its `count` with its `most`, and raises `count`."""
        current = self._windows.get(key)
        if current is not None and current.since <= at < current.until:
            return current
        if len(self._windows) >= limits.rates_remembered_max:
            self._windows.clear()
        new = self._windows[key] = RateWindow(at, self.most or math.inf)
        return new
