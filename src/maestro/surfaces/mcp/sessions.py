"""MCP sessions over HTTP, from handshake to end. The SDK learns of a session when the session needs the SDK."""

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

_UNNAMED_REVISION = "2025-03-26"  # the revision of a client that names no revision


class Sessions:
    """All MCP sessions of the server."""

    def __init__(self, host: Host, engine: LazyEngine, listings: Listings) -> None:
        self._host = host
        self._engine = engine
        self._listings = listings
        self._register = Register(host.sign)
        self._idle_check: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._register)

    def __iter__(self) -> Iterator[Known]:
        return iter(self._register)

    def begin(self, hello: Hello, params: Any, caller: Caller) -> Known:
        """Start a session for a client that sent `initialize`."""
        outer = self._register.mint(caller, hello.client_info.name)
        return self._add_session(Known(outer, caller, Handing(self._host), params, hello.version.encode()))

    def begun(self, inner: str, client: str, caller: Caller) -> Known:
        """Add a session whose handshake the SDK has answered."""
        outer = self._register.mint(caller, client)
        return self._add_session(Known(outer, caller, Handing(self._host), None, inner=inner))

    def find(self, outer: str, caller: Caller, version: str) -> Known | None:
        """Return a caller's session by its id. A session forgotten after a restart or an idle time starts again."""
        session = self._register.get(outer)
        if session is None and self._register.is_ours(outer, caller):
            revision = version or _UNNAMED_REVISION
            hello = {
                "protocolVersion": revision,
                "capabilities": {},
                "clientInfo": {"name": self._register.client_of(outer), "version": "0"},
            }
            agreed = revision if revision in HANDSHAKES else HANDSHAKES[-1]
            session = self._add_session(Known(outer, caller, Handing(self._host), hello, agreed.encode(), ready=True))
        return session

    def is_anothers(self, outer: str, caller: Caller) -> bool:
        session = self._register.get(outer)
        return session is not None and session.caller.name != caller.name

    def ready(self, inner: str, version: str, notify: Callable[[], Awaitable[None]]) -> None:
        """Mark a session of the SDK as initialized. `notify` tells its client about changed tools."""
        session = self._register.by_inner(inner)
        if session is not None:
            session.version, session.ready = version.encode(), True
            session.tell = notify
            self._update_tool_list(session)

    async def introduce(self, session: Known) -> bool:
        """Introduce a session to the SDK, if the SDK does not know it. Return False if the SDK refuses."""
        async with session.introducing:
            if session.inner:
                return True
            hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": session.hello}
            answer = await self._engine.ask("POST", hello, session.caller)
            if not answer.session_id:
                return False
            self._register.introduced(session, answer.session_id)
            if session.ready:
                headers = ((SESSION, session.inner.encode()), (VERSION, session.version))
                await self._engine.ask("POST", {"jsonrpc": "2.0", "method": INITIALIZED}, session.caller, *headers)
            return True

    @contextlib.contextmanager
    def listening(self, session: Known) -> Iterator[None]:
        """Count an open stream of the client. The client gets the notifications that it missed without a stream."""
        session.streams += 1
        self._update_tool_list(session)
        try:
            yield
        finally:
            session.streams -= 1
            self._update_tool_list(session)

    def _update_tool_list(self, session: Known) -> None:
        if session.listing is not None:
            session.listing.tell = session.tell if session.streams else None
            self._listings.changed(session.listing)

    def end(self, session: Known) -> None:
        """End a session by its client's wish: the id is no longer valid."""
        self._forget_session(session)
        self._register.end(session)

    def hang_up(self, session: Known | None) -> None:
        """Forget a session. The client's next call with the id starts the session again."""
        if session is None or self._register.get(session.outer) is not session:
            return
        self._forget_session(session)
        if session.inner:
            header = (SESSION, session.inner.encode())
            task = asyncio.ensure_future(self._engine.ask("DELETE", None, session.caller, header))
            task.add_done_callback(lambda done: done.exception())

    def hang_up_on(self, matches: Callable[[Known], bool]) -> None:
        for session in self._register:
            if matches(session):
                self.hang_up(session)

    def stop(self) -> None:
        if self._idle_check is not None:
            self._idle_check.cancel()
        for session in self._register:
            self._forget_session(session)

    def _forget_session(self, session: Known) -> None:
        self._register.drop(session)
        if session.listing is not None:
            self._listings.drop(session.listing)

    def _add_session(self, session: Known) -> Known:
        if self._idle_check is None or self._idle_check.done():
            self._idle_check = asyncio.create_task(self._end_idle_sessions_regularly())
        session.listing = Listing(lambda: self._host.anew(session.caller), None)
        self._listings.add(session.listing)
        return self._register.add(session)

    async def _end_idle_sessions_regularly(self) -> None:
        """End idle sessions at intervals, until no session is left."""
        while len(self._register):
            await asyncio.sleep(limits.mcp_reap_seconds)
            self.reap(time.monotonic())

    def reap(self, now: float) -> None:
        """End the sessions that are idle at a time."""
        self.hang_up_on(lambda session: session.is_idle(now))
