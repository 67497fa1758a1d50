"""MCP sessions over HTTP, from handshake to end. The SDK learns of a session when the session needs the SDK."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from maestro.core import limits
from maestro.domain.callers import Caller
from maestro.surfaces.mcp.fast_path.messages import HANDSHAKE_REVISIONS, INITIALIZED, InitializeParams
from maestro.surfaces.mcp.http.headers import SESSION_HEADER, VERSION_HEADER
from maestro.surfaces.mcp.http.internal_request import send_internal_request
from maestro.surfaces.mcp.http.receipts import MailReceipts
from maestro.surfaces.mcp.http.session_registry import ProtocolSession, SessionRegister
from maestro.surfaces.mcp.ports import Host
from maestro.surfaces.mcp.sdk.lazy_engine import LazyEngine
from maestro.surfaces.mcp.tools.tool_list_watch import ToolListWatch, WatchedToolList

_UNNAMED_REVISION = "2025-03-26"  # the revision of a client that names no revision


class ProtocolSessions:
    """All MCP sessions of the server."""

    def __init__(self, host: Host, engine: LazyEngine, tool_lists: ToolListWatch) -> None:
        self._host = host
        self._engine = engine
        self._tool_lists = tool_lists
        self._register = SessionRegister(host.sign_text)
        self._idle_check: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._register)

    def __iter__(self) -> Iterator[ProtocolSession]:
        return iter(self._register)

    def start_session(self, hello: InitializeParams, params: Any, caller: Caller) -> ProtocolSession:
        """Start a session for a client that sent `initialize`."""
        client_id = self._register.create_id(caller, hello.client_info.name)
        return self._add_session(
            ProtocolSession(client_id, caller, MailReceipts(self._host), params, hello.agreed_revision.encode())
        )

    def add_sdk_session(self, sdk_id: str, client: str, caller: Caller) -> ProtocolSession:
        """Add a session whose handshake the SDK has answered."""
        client_id = self._register.create_id(caller, client)
        return self._add_session(ProtocolSession(client_id, caller, MailReceipts(self._host), None, sdk_id=sdk_id))

    def find_session(self, client_id: str, caller: Caller, version: str) -> ProtocolSession | None:
        """Return a caller's session by its id. A session forgotten after a restart or an idle time starts again."""
        session = self._register.find_session(client_id)
        if session is None and self._register.is_valid_id(client_id, caller):
            revision = version or _UNNAMED_REVISION
            hello = {
                "protocolVersion": revision,
                "capabilities": {},
                "clientInfo": {"name": self._register.tool_in_id(client_id), "version": "0"},
            }
            agreed = revision if revision in HANDSHAKE_REVISIONS else HANDSHAKE_REVISIONS[-1]
            session = self._add_session(
                ProtocolSession(client_id, caller, MailReceipts(self._host), hello, agreed.encode(), is_ready=True)
            )
        return session

    def belongs_to_another(self, client_id: str, caller: Caller) -> bool:
        session = self._register.find_session(client_id)
        return session is not None and session.caller.name != caller.name

    def mark_ready(self, sdk_id: str, version: str, notify: Callable[[], Awaitable[None]]) -> None:
        """Mark a session of the SDK as initialized. `notify` tells its client about changed tools."""
        session = self._register.find_by_sdk_id(sdk_id)
        if session is not None:
            session.version, session.is_ready = version.encode(), True
            session.notify_tools_changed = notify
            self._update_tool_list(session)

    async def introduce_to_sdk(self, session: ProtocolSession) -> bool:
        """Introduce a session to the SDK, if the SDK does not know it. Return False if the SDK refuses."""
        async with session.introduction_lock:
            if session.sdk_id:
                return True
            hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": session.initialize_params}
            answer = await send_internal_request(self._engine, "POST", hello, session.caller)
            if not answer.session_id:
                return False
            self._register.set_sdk_id(session, answer.session_id)
            if session.is_ready:
                headers = ((SESSION_HEADER, session.sdk_id.encode()), (VERSION_HEADER, session.version))
                await send_internal_request(
                    self._engine, "POST", {"jsonrpc": "2.0", "method": INITIALIZED}, session.caller, *headers
                )
            return True

    @contextlib.contextmanager
    def count_stream(self, session: ProtocolSession) -> Iterator[None]:
        """Count an open stream of the client. The client gets the notifications that it missed without a stream."""
        session.open_streams += 1
        self._update_tool_list(session)
        try:
            yield
        finally:
            session.open_streams -= 1
            self._update_tool_list(session)

    def _update_tool_list(self, session: ProtocolSession) -> None:
        if session.tool_list is not None:
            session.tool_list.notify_client = session.notify_tools_changed if session.open_streams else None
            self._tool_lists.schedule_check(session.tool_list)

    def end_session(self, session: ProtocolSession) -> None:
        """End a session by its client's wish: the id is no longer valid."""
        self._forget_session(session)
        self._register.void_session(session)

    def hang_up(self, session: ProtocolSession | None) -> None:
        """Forget a session. The client's next call with the id starts the session again."""
        if session is None or self._register.find_session(session.client_id) is not session:
            return
        self._forget_session(session)
        if session.sdk_id:
            header = (SESSION_HEADER, session.sdk_id.encode())
            task = asyncio.ensure_future(send_internal_request(self._engine, "DELETE", None, session.caller, header))
            task.add_done_callback(lambda done: done.exception())

    def hang_up_matching(self, matches: Callable[[ProtocolSession], bool]) -> None:
        for session in self._register:
            if matches(session):
                self.hang_up(session)

    def stop(self) -> None:
        if self._idle_check is not None:
            self._idle_check.cancel()
        for session in self._register:
            self._forget_session(session)

    def _forget_session(self, session: ProtocolSession) -> None:
        self._register.forget_session(session)
        if session.tool_list is not None:
            self._tool_lists.remove_list(session.tool_list)

    def _add_session(self, session: ProtocolSession) -> ProtocolSession:
        if self._idle_check is None or self._idle_check.done():
            self._idle_check = asyncio.create_task(self._end_idle_sessions_regularly())
        session.tool_list = WatchedToolList(lambda: self._host.refresh_caller(session.caller), None)
        self._tool_lists.add_list(session.tool_list)
        return self._register.add_session(session)

    async def _end_idle_sessions_regularly(self) -> None:
        """End idle sessions at intervals, until no session is left."""
        while len(self._register):
            await asyncio.sleep(limits.mcp_reap_seconds)
            self.end_idle_sessions(time.monotonic())

    def end_idle_sessions(self, now: float) -> None:
        """End the sessions that are idle at a time."""
        self.hang_up_matching(lambda session: session.is_idle(now))
