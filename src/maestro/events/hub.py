"""Give committed events to the subscriptions for their keys. An event is only a hint to read the store again.

The queue of a subscription is bounded. A subscription that falls behind is marked as lagging and loses its queue. Its
listener reads the log again from its own cursor.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from maestro.core import limits
from maestro.domain.events import Event

EVERYTHING = "*"


def mailbox_key(mailbox: str) -> str:
    """Return the key for mail to a mailbox, apart from the other events of its session or project."""
    return f"mail:{mailbox}"


class Subscription:
    """The queue of one listener, with events in their order."""

    def __init__(self, keys: frozenset[str]) -> None:
        self.keys = keys
        self.is_lagging = False
        self._queue: list[Event] = []
        self._waiter: asyncio.Future[None] | None = None

    def add_event(self, event: Event) -> None:
        """Add an event to the queue. The hub calls this method on the event loop."""
        if len(self._queue) >= limits.feed_queue_events_max:
            self._queue.clear()
            self.is_lagging = True
        if not self.is_lagging:
            self._queue.append(event)
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def take_events(self) -> list[Event]:
        """Return and clear the queue. After a lag the queue is empty, and new events are queued again."""
        self.is_lagging = False
        events, self._queue = self._queue, []
        return events

    async def wait_for_event(self) -> None:
        """Wait until the queue has an event, or the subscription lags."""
        if self._queue or self.is_lagging:
            return
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None


class Hub:
    """The subscriptions by key."""

    def __init__(self) -> None:
        self._listeners: defaultdict[str, set[Subscription]] = defaultdict(set)

    @contextmanager
    def subscribe(self, keys: Iterable[str]) -> Iterator[Subscription]:
        """Subscribe to events of subjects, projects or mailboxes, or to EVERYTHING."""
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
        """Offer each event once to every subscription with a matching key."""
        if not self._listeners:
            return
        for event in events:
            subscriptions: set[Subscription] = set()
            # A mail event names the mailboxes of its recipients, and wakes only the listeners of these mailboxes.
            for key in (event.subject, event.project, EVERYTHING, *map(mailbox_key, event.data.get("to", ()))):
                if key is not None and key in self._listeners:
                    subscriptions |= self._listeners[key]
            for subscription in subscriptions:
                subscription.add_event(event)
