"""Tells one client which of its watched resources have changed.

One task per client, and nobody else waits for it: a client that does not read what it is told is let go after a
while. What happens meanwhile is one entry per resource, however often it happens.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

from maestro.core import limits
from maestro.domain.callers import Caller
from maestro.surfaces.mcp import resources
from maestro.surfaces.mcp.ports import Host, Listener
from maestro.surfaces.mcp.resources import Topic

log = logging.getLogger(__name__)

Tell = Callable[[str], Awaitable[None]]


class Updates:
    """One client's watched resources, and the task that tells it of them."""

    def __init__(self, host: Host, caller: Caller, *, stalled: Callable[[], None]) -> None:
        self._host = host
        self._caller = caller
        self._stalled = stalled
        self._topics: dict[str, Topic] = {}
        self._task: asyncio.Task[None] | None = None

    def watch(self, topic: Topic, tell: Tell) -> None:
        self._topics[topic.uri] = topic
        if self._task is None or self._task.done():
            # Listening begins here and now: what happens before the task runs is not missed.
            listening = self._host.listen(self._caller)
            listener = listening.__enter__()
            self._task = asyncio.create_task(self._tell_all(listener, tell))
            self._task.add_done_callback(lambda task: listening.__exit__(None, None, None))

    def unwatch(self, uri: str) -> None:
        self._topics.pop(uri, None)
        if not self._topics:
            self.close()

    def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def _tell_all(self, listener: Listener, tell: Tell) -> None:
        try:
            async for uri in changes(self._host, self._caller, listener, self._topics):
                async with asyncio.timeout(limits.mcp_stalled_seconds):
                    await tell(uri)
        except TimeoutError:
            log.info("a client of %s does not read what it is told: its session ends", self._caller.name)
            self._stalled()


async def changes(host: Host, caller: Caller, listener: Listener, topics: Mapping[str, Topic]) -> AsyncIterator[str]:
    """Addresses of what has changed, without end."""
    boxes = host.boxes(caller)
    while True:
        await listener.wait()
        missed = listener.lagging
        events = listener.take()
        known = list(topics.values())
        dirty = {topic.uri for topic in known} if missed else set()
        for event in events:
            dirty |= resources.changed(event, known, boxes)
        for uri in sorted(dirty):
            yield uri
