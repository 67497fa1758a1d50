"""Sessions of the protocol over HTTP, from their handshake to their end; the SDK is told of those that need it."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from maestro.core import limits
from maestro.domain.callers import Caller
from maestro.surfaces.mcp.handing import Handing
from maestro.surfaces.mcp.known import Known, Register
from maestro.surfaces.mcp.lazy import LazyEngine
from maestro.surfaces.mcp.listings import Listing, Listings
from maestro.surfaces.mcp.ports import Host
from maestro.surfaces.mcp.requests import HANDSHAKES, INITIALIZED, SESSION, VERSION, Hello

_OLDEST = "2025-03-26"  # what a client speaks that does not say it


class Sessions:
    """All that there are."""

    def __init__(self, host: Host, engine: LazyEngine, listings: Listings) -> None:
        self._host = host
        self._engine = engine
        self._listings = listings
        self._known = Register(host.sign)
        self._reaping: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._known)

    def __iter__(self) -> Iterator[Known]:
        return iter(self._known)

    def begin(self, hello: Hello, params: Any, caller: Caller) -> Known:
        """A client has introduced itself."""
        outer = self._known.mint(caller, hello.client_info.name)
        return self._add(Known(outer, caller, Handing(self._host), params, hello.version.encode()))

    def begun(self, inner: str, client: str, caller: Caller) -> Known:
        """A client has introduced itself to the SDK."""
        outer = self._known.mint(caller, client)
        return self._add(Known(outer, caller, Handing(self._host), None, inner=inner))

    def find(self, outer: str, caller: Caller, version: str) -> Known | None:
        """A caller's session by its id. One that was forgotten, by a restart or because it was idle, begins anew."""
        known = self._known.get(outer)
        if known is None and self._known.is_ours(outer, caller):
            spoken = version or _OLDEST
            hello = {
                "protocolVersion": spoken,
                "capabilities": {},
                "clientInfo": {"name": self._known.client_of(outer), "version": "0"},
            }
            agreed = spoken if spoken in HANDSHAKES else HANDSHAKES[-1]
            known = self._add(Known(outer, caller, Handing(self._host), hello, agreed.encode(), ready=True))
        return known

    def is_anothers(self, outer: str, caller: Caller) -> bool:
        known = self._known.get(outer)
        return known is not None and known.caller.name != caller.name

    def ready(self, inner: str, version: str, tell: Callable[[], Awaitable[None]]) -> None:
        """The SDK has taken a client's word that it is initialized; `tell` says that its tools have changed."""
        known = self._known.by_inner(inner)
        if known is not None:
            known.version, known.ready = version.encode(), True
            known.tell = tell
            self._hear(known)

    async def introduce(self, known: Known) -> bool:
        """Let the SDK know of a session, if it does not; False if it will not have it."""
        async with known.introducing:
            if known.inner:
                return True
            hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": known.hello}
            first = await self._engine.ask("POST", hello, known.caller)
            if not first.session_id:
                return False
            self._known.introduced(known, first.session_id)
            if known.ready:
                named = ((SESSION, known.inner.encode()), (VERSION, known.version))
                await self._engine.ask("POST", {"jsonrpc": "2.0", "method": INITIALIZED}, known.caller, *named)
            return True

    @contextlib.contextmanager
    def listening(self, known: Known) -> Iterator[None]:
        """While its client has a stream open: what it missed before, it hears now."""
        known.streams += 1
        self._hear(known)
        try:
            yield
        finally:
            known.streams -= 1
            self._hear(known)

    def _hear(self, known: Known) -> None:
        if known.listing is not None:
            known.listing.tell = known.tell if known.streams else None
            self._listings.changed(known.listing)

    def end(self, known: Known) -> None:
        """Its client has ended it: its id is void."""
        self._forget(known)
        self._known.end(known)

    def hang_up(self, known: Known | None) -> None:
        """Forget a session; if its client still is there, its id brings it back."""
        if known is None or self._known.get(known.outer) is not known:
            return
        self._forget(known)
        if known.inner:
            named = (SESSION, known.inner.encode())
            task = asyncio.ensure_future(self._engine.ask("DELETE", None, known.caller, named))
            task.add_done_callback(lambda done: done.exception())

    def hang_up_on(self, matches: Callable[[Known], bool]) -> None:
        for known in self._known:
            if matches(known):
                self.hang_up(known)

    def stop(self) -> None:
        if self._reaping is not None:
            self._reaping.cancel()
        for known in self._known:
            self._forget(known)

    def _forget(self, known: Known) -> None:
        self._known.drop(known)
        if known.listing is not None:
            self._listings.drop(known.listing)

    def _add(self, known: Known) -> Known:
        if self._reaping is None or self._reaping.done():
            self._reaping = asyncio.create_task(self._reap())
        known.listing = Listing(lambda: self._host.anew(known.caller), None)
        self._listings.add(known.listing)
        return self._known.add(known)

    async def _reap(self) -> None:
        """While there are sessions: end those whose clients have been silent for long."""
        while len(self._known):
            await asyncio.sleep(limits.mcp_reap_seconds)
            self.reap(time.monotonic())

    def reap(self, now: float) -> None:
        """End the sessions that are idle by then."""
        self.hang_up_on(lambda known: known.is_idle(now))
