"""Clients that were told which tools they have, and are told when that is no longer so.

What a session may changes with its member; whose a pipe is, with the sessions that are registered.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator

from maestro.core import errors, limits
from maestro.domain.callers import Caller
from maestro.surfaces.mcp import schemas

_GATHER_SECONDS = 0.2  # what changes together is told once


class Listing:
    """One client's list of tools."""

    def __init__(self, who: Callable[[], Awaitable[Caller]], tell: Callable[[], Awaitable[None]] | None) -> None:
        self.tell = tell  # None while nobody would hear it
        self._who = who
        self._told: schemas.Offer | None = None

    def told(self, caller: Caller) -> None:
        """It has been given the list of this caller."""
        self._told = schemas.offer(caller)

    async def check(self) -> None:
        """Tell it if its list is another by now."""
        if self._told is None or self.tell is None:
            return
        try:
            now = schemas.offer(await self._who())
        except errors.MaestroError:
            return  # its next call says what is wrong
        if now != self._told and self.tell is not None:
            self._told = now
            with contextlib.suppress(TimeoutError, OSError):
                async with asyncio.timeout(limits.mcp_stalled_seconds):
                    await self.tell()


class Listings:
    """Those of all clients that can be told something."""

    def __init__(self) -> None:
        self._all: set[Listing] = set()
        self._unsure: set[Listing] = set()  # whose lists may be old
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
        """Somebody may do more, or less, than before; or one can be told only now."""
        self._unsure |= self._all if only is None else {only}
        if self._unsure and (self._checking is None or self._checking.done()):
            self._checking = asyncio.create_task(self._check())

    async def _check(self) -> None:
        await asyncio.sleep(_GATHER_SECONDS)
        self._checking = None  # what changes from here on is looked at anew
        unsure, self._unsure = self._unsure & self._all, set()
        await asyncio.gather(*(listing.check() for listing in unsure))
