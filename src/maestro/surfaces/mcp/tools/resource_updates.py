"""Notify one client of changes in its watched resources.

Each client has its own task, so a slow client delays no other client. A client that does not read its notifications
is disconnected after a while. Many changes of a resource in the meantime cause one notification.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

from maestro.core import limits
from maestro.domain.callers import Caller
from maestro.surfaces.mcp.ports import Host, Listener
from maestro.surfaces.mcp.tools import resources
from maestro.surfaces.mcp.tools.resources import WatchedResource

log = logging.getLogger(__name__)

NotifyClient = Callable[[str], Awaitable[None]]


class ResourceUpdates:
    """The watched resources of one client, and the task that sends the notifications."""

    def __init__(self, host: Host, caller: Caller, *, stalled: Callable[[], None]) -> None:
        self._host = host
        self._caller = caller
        self._on_stalled = stalled
        self._topics: dict[str, WatchedResource] = {}
        self._task: asyncio.Task[None] | None = None

    def watch_resource(self, topic: WatchedResource, tell: NotifyClient) -> None:
        self._topics[topic.uri] = topic
        if self._task is None or self._task.done():
            # The subscription starts at once, so that no event is missed before the task runs.
            subscription = self._host.subscribe_caller(self._caller)
            listener = subscription.__enter__()
            self._task = asyncio.create_task(self._send_notifications(listener, tell))
            self._task.add_done_callback(lambda task: subscription.__exit__(None, None, None))

    def unwatch_resource(self, uri: str) -> None:
        self._topics.pop(uri, None)
        if not self._topics:
            self.close()

    def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def _send_notifications(self, listener: Listener, tell: NotifyClient) -> None:
        try:
            async for uri in changed_uris(self._host, self._caller, listener, self._topics):
                async with asyncio.timeout(limits.mcp_stalled_seconds):
                    await tell(uri)
        except TimeoutError:
            log.info("a client of %s does not read its notifications: its MCP session ends", self._caller.name)
            self._on_stalled()


async def changed_uris(
    host: Host, caller: Caller, listener: Listener, topics: Mapping[str, WatchedResource]
) -> AsyncIterator[str]:
    """Yield the addresses of changed resources, without end."""
    mailboxes = host.mailboxes_of(caller)
    while True:
        await listener.wait_for_event()
        has_missed_events = listener.is_lagging
        events = listener.take_events()
        watched = list(topics.values())
        uris = {topic.uri for topic in watched} if has_missed_events else set()
        for event in events:
            uris |= resources.find_changed_uris(event, watched, mailboxes)
        for uri in sorted(uris):
            yield uri
