"""Notify clients when their list of tools has changed.

The tools of a session change with its member. The caller of a pipe changes when an agent is registered.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator

from maestro.core import errors, limits
from maestro.domain.callers import Caller
from maestro.surfaces.mcp.tools import schemas

_GATHER_SECONDS = 0.2  # changes within this time cause one notification


class WatchedToolList:
    """The list of tools that one client has."""

    def __init__(
        self, identify: Callable[[], Awaitable[Caller]], notify_client: Callable[[], Awaitable[None]] | None
    ) -> None:
        self.notify_client = notify_client  # None while the client has no open stream
        self._identify = identify
        self._listed_uses: schemas.OfferedUses | None = None

    def note_listed_tools(self, caller: Caller) -> None:
        """Record that the client got the list of a caller."""
        self._listed_uses = schemas.offered_uses(caller)

    async def notify_if_changed(self) -> None:
        """Notify the client if its list has changed."""
        if self._listed_uses is None or self.notify_client is None:
            return
        try:
            offered = schemas.offered_uses(await self._identify())
        except errors.MaestroError:
            return  # the client's next call reports the error
        if offered != self._listed_uses and self.notify_client is not None:
            self._listed_uses = offered
            with contextlib.suppress(TimeoutError, OSError):
                async with asyncio.timeout(limits.mcp_stalled_seconds):
                    await self.notify_client()


class ToolListWatch:
    """The lists of all clients that can get a notification."""

    def __init__(self) -> None:
        self._all: set[WatchedToolList] = set()
        self._unchecked: set[WatchedToolList] = set()  # the lists that may have changed
        self._checking: asyncio.Task[None] | None = None

    @contextlib.contextmanager
    def watch_list(self, listing: WatchedToolList) -> Iterator[WatchedToolList]:
        self.add_list(listing)
        try:
            yield listing
        finally:
            self.remove_list(listing)

    def add_list(self, listing: WatchedToolList) -> None:
        self._all.add(listing)

    def remove_list(self, listing: WatchedToolList) -> None:
        self._all.discard(listing)

    def schedule_check(self, only: WatchedToolList | None = None) -> None:
        """Check all lists soon, or only the list of one client that can get notifications now."""
        self._unchecked |= self._all if only is None else {only}
        if self._unchecked and (self._checking is None or self._checking.done()):
            self._checking = asyncio.create_task(self._check_lists())

    async def _check_lists(self) -> None:
        await asyncio.sleep(_GATHER_SECONDS)
        self._checking = None  # later changes cause a new check
        unchecked, self._unchecked = self._unchecked & self._all, set()
        await asyncio.gather(*(listing.notify_if_changed() for listing in unchecked))
