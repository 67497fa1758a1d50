"""Counts how often something happens within a minute, in memory: a restart forgives everyone."""

from __future__ import annotations

import math
from collections.abc import Hashable
from datetime import datetime, timedelta

from maestro.core import limits

_MINUTE = timedelta(minutes=1)


class Window:
    """A minute, and how often something happened in it. Changed in place: every message counts in three."""

    __slots__ = ("count", "most", "since", "until")

    def __init__(self, since: datetime, most: float) -> None:
        self.since = since
        self.until = since + _MINUTE
        self.most = most
        self.count = 0

    def take_back(self) -> None:
        """Count one less: the work that was counted is not stored."""
        self.count -= 1


class Rate:
    """Limit how often each key is counted within a minute; 0 means no limit."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._windows: dict[Hashable, Window] = {}

    def window(self, key: Hashable, at: datetime) -> Window:
        """Return the minute in which a key is counted now; whoever counts raises its `count`, up to its `most`."""
        found = self._windows.get(key)
        if found is not None and found.since <= at < found.until:
            return found
        if len(self._windows) >= limits.rates_remembered_max:
            self._windows.clear()
        made = self._windows[key] = Window(at, self.most or math.inf)
        return made
