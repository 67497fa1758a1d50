"""A feed of the log: replays from a cursor, then goes live, and never skips between the two."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection

from maestro.core import limits
from maestro.domain.events import Event
from maestro.events.hub import EVERYTHING, Hub, Subscription
from maestro.store.base import Store, Tx


class PastHorizon(Exception):
    """The cursor is not a place in the log as it is."""

    def __init__(self, horizon: int) -> None:
        self.horizon = horizon
        super().__init__(f"the log begins after {horizon}")


class Feed:
    """Where feeds come from."""

    def __init__(self, store: Store, hub: Hub) -> None:
        self._store = store
        self._hub = hub

    async def read(
        self, *, since: int, project: str | None, kinds: Collection[str], limit: int
    ) -> tuple[list[Event], int, bool]:
        """One page: its events, the cursor after it, and whether more is there."""

        def page(tx: Tx) -> list[Event]:
            horizon = tx.events.horizon()
            # A place beyond the end was in another log: this one has been put back from a backup.
            if 0 < since < horizon or since > tx.events.last():
                raise PastHorizon(horizon)
            return tx.events.after(max(since, horizon), limit=limit, project=project)

        events = await self._store.read(page)
        cursor = events[-1].seq if events else since
        return [event for event in events if not kinds or event.kind in kinds], cursor, len(events) == limit

    async def follow(self, *, since: int, project: str | None, kinds: Collection[str]) -> AsyncIterator[Event]:
        """Everything after `since`, for as long as the caller listens."""
        cursor = since
        with self._hub.subscribe([project or EVERYTHING]) as subscription:
            while True:
                # Subscribed before this reads, so nothing slips between replay and live.
                more = True
                while more:
                    events, cursor, more = await self.read(
                        since=cursor, project=project, kinds=kinds, limit=limits.feed_page_events_max
                    )
                    for event in events:
                        yield event
                async for event in _live(subscription, cursor):
                    cursor = event.seq
                    if not kinds or event.kind in kinds:
                        yield event


async def _live(subscription: Subscription, cursor: int) -> AsyncIterator[Event]:
    """What comes in from now on, until this listener falls behind and must read the log again."""
    while True:
        await subscription.wait()
        if subscription.lagging:
            subscription.take()
            return
        for event in subscription.take():
            if event.seq > cursor:
                yield event
