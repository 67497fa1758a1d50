"""Hands committed events to whoever listens for their keys. It only ever says "look again": the store is the truth.

A subscriber's queue is bounded. One that falls behind is marked as lagging, loses its queue, and goes back to
reading the log from its own cursor.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from maestro.core import limits
from maestro.domain.events import Event

EVERYTHING = "*"


def box_key(box: str) -> str:
    """Mail for a box: apart from all else that happens to the session or in the project it belongs to."""
    return f"mail:{box}"


class Subscription:
    """One listener's events, in order."""

    def __init__(self, keys: frozenset[str]) -> None:
        self.keys = keys
        self.lagging = False
        self._queue: list[Event] = []
        self._waiter: asyncio.Future[None] | None = None

    def offer(self, event: Event) -> None:
        """Called by the hub, on the event loop."""
        if len(self._queue) >= limits.feed_queue_events_max:
            self._queue.clear()
            self.lagging = True
        if not self.lagging:
            self._queue.append(event)
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def take(self) -> list[Event]:
        """Everything that has come so far; after a lag, nothing, but listening works again."""
        self.lagging = False
        taken, self._queue = self._queue, []
        return taken

    async def wait(self) -> None:
        """Until something has come."""
        if self._queue or self.lagging:
            return
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None


class Hub:
    """Who listens for what."""

    def __init__(self) -> None:
        self._listeners: defaultdict[str, set[Subscription]] = defaultdict(set)

    @contextmanager
    def subscribe(self, keys: Iterable[str]) -> Iterator[Subscription]:
        """Listen for events about these subjects or projects, or for EVERYTHING."""
        subscription = Subscription(frozenset(keys))
        for key in subscription.keys:
            self._listeners[key].add(subscription)
        try:
            yield subscription
        finally:
            for key in subscription.keys:
                self._listeners[key].discard(subscription)
                if not self._listeners[key]:
                    del self._listeners[key]

    def publish(self, events: Sequence[Event]) -> None:
        """Tell the listeners of each event; each hears it once, however many of its keys match."""
        if not self._listeners:
            return
        for event in events:
            told: set[Subscription] = set()
            # An event may name whom it is for: mail wakes those whose boxes it came to.
            for key in (event.subject, event.project, EVERYTHING, *map(box_key, event.data.get("to", ()))):
                if key is not None and key in self._listeners:
                    told |= self._listeners[key]
            for subscription in told:
                subscription.offer(event)
