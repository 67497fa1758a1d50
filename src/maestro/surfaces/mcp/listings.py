"""Notify clients when their list of tools has changed.

The tools of a session change with its member. The caller of a pipe changes when an agent is registered.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator

from maestro.core import errors, limits
from maestro.domain.callers import Caller
from maestro.surfaces.mcp import schemas

_GATHER_SECONDS = 0.2  # changes within this time cause one notification


class Listing:
    """The list of tools that one client has."""

    def __init__(self, who: Callable[[], Awaitable[Caller]], tell: Callable[[], Awaitable[None]] | None) -> None:
        self.tell = tell  # None while the client has no open stream
        self._identify = who
        self._listed_uses: schemas.Offer | None = None

    def told(self, caller: Caller) -> None:
        """Record that the client got the list of a caller."""
        self._listed_uses = schemas.offer(caller)

    async def check(self) -> None:
        """Notify the client if its list has changed."""
        if self._listed_uses is None or self.tell is None:
            return
        try:
            offered = schemas.offer(await self._identify())
        except errors.MaestroError:
            return  # the client's next call reports the error
        if offered != self._listed_uses and self.tell is not None:
            self._listed_uses = offered
            with contextlib.suppress(TimeoutError, OSError):
                async with asyncio.timeout(limits.mcp_stalled_seconds):
                    await self.tell()


class Listings:
    """The lists of all clients that can get a notification."""

    def __init__(self) -> None:
        self._all: set[Listing] = set()
        self._unchecked: set[Listing] = set()  # the lists that may have changed
        self._checking: asyncio.Task[None] | None = None

    @contextlib.contextmanager
    def keep(self, listing: Listing) -> Iterator[Listing]:
        self.add(listing)
        try:
            yield listing
        finally:
            self.drop(listing)

    def add(self, listing: Listing) -> None:
        self._all.add(listing)

    def drop(self, listing: Listing) -> None:
        self._all.discard(listing)

    def changed(self, only: Listing | None = None) -> None:
        """Check all lists soon, or only the list of one client that can get notifications now."""
        self._unchecked |= self._all if only is None else {only}
        if self._unchecked and (self._checking is None or self._checking.done()):
            self._checking = asyncio.create_task(self._check_lists())

    async def _check_lists(self) -> None:
        await asyncio.sleep(_GATHER_SECONDS)
        self._checking = None  # later changes cause a new check
        unchecked, self._unchecked = self._unchecked & self._all, set()
        await asyncio.gather(*(listing.check() for listing in unchecked))
