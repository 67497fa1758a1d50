"""Feeds of the log: replay events from a cursor, then follow new events, without a gap between both."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection

from maestro.core import limits
from maestro.domain.events import Event
from maestro.events.hub import EVERYTHING, Hub, Subscription
from maestro.store.base import Store, Tx


class CursorNotInLog(Exception):
    """The cursor is not a sequence number of the present log."""

    def __init__(self, horizon: int) -> None:
        self.horizon = horizon
        super().__init__(f"the log begins after {horizon}")


class Feed:
    """Reads pages of the log and follows the log."""

    def __init__(self, store: Store, hub: Hub) -> None:
        self._store = store
        self._hub = hub

    async def read_page(
        self, *, since: int, project: str | None, kinds: Collection[str], limit: int
    ) -> tuple[list[Event], int, bool]:
        """Return one page of events, the cursor after the page, and whether more events follow."""

        def read_page(tx: Tx) -> list[Event]:
            horizon = tx.events.retention_horizon()
            # A cursor beyond the end belongs to another log: this log was restored from a backup.
            if 0 < since < horizon or since > tx.events.last_seq():
                raise CursorNotInLog(horizon)
            return tx.events.list_after(max(since, horizon), limit=limit, project=project)

        events = await self._store.read(read_page)
        cursor = events[-1].seq if events else since
        return [event for event in events if not kinds or event.kind in kinds], cursor, len(events) == limit

    async def follow_log(self, *, since: int, project: str | None, kinds: Collection[str]) -> AsyncIterator[Event]:
        """Yield all events after `since`, as long as the caller listens."""
        cursor = since
        with self._hub.subscribe([project or EVERYTHING]) as subscription:
            while True:
                # The subscription exists before the read, so no event is lost between replay and new events.
                more = True
                while more:
                    events, cursor, more = await self.read_page(
                        since=cursor, project=project, kinds=kinds, limit=limits.feed_page_events_max
                    )
                    for event in events:
                        yield event
                async for event in _new_events(subscription, cursor):
                    cursor = event.seq
                    if not kinds or event.kind in kinds:
                        yield event


async def _new_events(subscription: Subscription, cursor: int) -> AsyncIterator[Event]:
    """Yield new events until the subscription falls behind; the caller must read the log again."""
    while True:
        await subscription.wait_for_event()
        if subscription.is_lagging:
            subscription.take_events()
            return
        for event in subscription.take_events():
            if event.seq > cursor:
                yield event
