"""The server's part of `maestro mcp`: a pipe of messages, one per line. The pipe's process identifies the caller.

The relay at the other end writes the answers out and confirms them, which makes the shown mail read. The relay
outlives the server. After a restart the relay connects again and names the requests that it has sent before, so that
no request is carried out twice.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from maestro.core import errors
from maestro.domain.callers import Caller, Role
from maestro.domain.sessions import SessionMode
from maestro.operations.app import SocketPeer
from maestro.surfaces.hand_started import UnregisteredAgent, default_name, register_agent
from maestro.surfaces.mcp.fast_path.results import FastPath
from maestro.surfaces.mcp.ports import Host
from maestro.surfaces.mcp.sdk.lazy_engine import LazyEngine
from maestro.surfaces.mcp.stdio.session import McpPipe, StdioSession
from maestro.surfaces.mcp.tools.calls import CallOptions
from maestro.surfaces.mcp.tools.resource_updates import ResourceUpdates
from maestro.surfaces.mcp.tools.tool_list_watch import ToolListWatch, WatchedToolList
from maestro.surfaces.mcp.tools.wait_limits import tool_of, wait_seconds

TOKEN_VARIABLE = "MAESTRO_TOKEN"
NONCE_VARIABLE = "MAESTRO_MCP_NONCE"
RESENT_VARIABLE = "MAESTRO_MCP_RESENT"
WAIT_SECONDS_VARIABLE = "MAESTRO_MCP_WAIT_SECONDS"
MODE_VARIABLE = "MAESTRO_MCP_MODE"
NAME_VARIABLE = "MAESTRO_MCP_NAME"


@dataclass(frozen=True)
class PipeOrigin:
    """The process, directory and environment behind a pipe."""

    peer: SocketPeer | None
    directory: str
    environment: Mapping[str, str]


class PipeConnection:
    """The connection of a pipe, as the engine sees it."""

    client_gone: asyncio.Event | None = None  # the end of the pipe cancels running calls

    def __init__(self, host: Host, origin: PipeOrigin, *, hang_up: Callable[[], None]) -> None:
        self.updates: ResourceUpdates | None = None
        self.tool_list: WatchedToolList | None = None
        self.receipts: dict[int | str, tuple[str, Caller]] = {}
        self._host = host
        self._origin = origin
        self._hang_up = hang_up
        self._nonce = origin.environment.get(NONCE_VARIABLE, "")
        self._resent_ids = _parse_ids(origin.environment.get(RESENT_VARIABLE, ""))
        self._registration_lock = asyncio.Lock()

    async def identify_caller(self, client: str) -> Caller:
        """Return the caller of the pipe: the session of its token, the session above its process, or a new session.

        An agent that the person started by hand gets a new session. The person's own token is the person.
        """
        token = self._origin.environment.get(TOKEN_VARIABLE, "")
        caller = await self._host.identify(token=token, peer=self._origin.peer)
        if token or caller.role is not Role.PERSON or not client:
            return caller
        async with self._registration_lock:
            caller = await self._host.identify(token="", peer=self._origin.peer)
            return await self._register_agent(caller, client) if caller.role is Role.PERSON else caller

    async def registered_caller(self) -> Caller:
        """Return the caller of the pipe without registering a new session."""
        return await self.identify_caller("")

    def note_listed_tools(self, caller: Caller) -> None:
        if self.tool_list is not None:
            self.tool_list.note_listed_tools(caller)

    async def _register_agent(self, person: Caller, client: str) -> Caller:
        """Register an agent that the person started by hand. The agent is the process that started the pipe."""
        tool = tool_of(client) or None
        environment = self._origin.environment
        agent = UnregisteredAgent(
            self._origin.peer,
            self._origin.directory,
            name=environment.get(NAME_VARIABLE) or default_name(tool, client),
            tool=tool,
            mode=_parse_mode(environment.get(MODE_VARIABLE, "")),
        )
        return await register_agent(self._host, person, agent)

    def call_options(
        self, request_id: int | str | None, name: str, arguments: Mapping[str, Any], client: str
    ) -> CallOptions:
        given_seconds = self._origin.environment.get(WAIT_SECONDS_VARIABLE, "")
        key = ""
        if self._nonce and request_id is not None:
            call = msgspec.json.encode([request_id, name, arguments], order="deterministic")
            key = f"mcp-{self._nonce[:64]}-{hashlib.sha256(call).hexdigest()[:32]}"
        return CallOptions(
            idempotency_key=key,
            seconds_max=wait_seconds(client, given_seconds),
            directory=self._origin.directory,
            is_repeated=request_id in self._resent_ids,
        )

    def note_shown_mail(self, request_id: int | str | None, receipt: str, caller: Caller) -> None:
        if request_id is not None:
            self.receipts[request_id] = (receipt, caller)

    def hang_up(self) -> None:
        self._hang_up()


class StdioServer:
    """The server of all pipes."""

    def __init__(self, host: Host, fast_path: FastPath, engine: LazyEngine, tool_lists: ToolListWatch) -> None:
        self._host = host
        self._fast_path = fast_path
        self._engine = engine
        self._tool_lists = tool_lists

    async def serve_pipe(self, pipe: McpPipe, origin: PipeOrigin) -> None:
        """Serve one pipe until its input ends."""
        task = asyncio.current_task()
        assert task is not None
        connection = PipeConnection(self._host, origin, hang_up=lambda: _cancel_task(task))
        stdio_session = StdioSession(self._host, pipe, connection, self._fast_path, self._engine)
        connection.tool_list = WatchedToolList(connection.registered_caller, stdio_session.notify_tools_changed)
        try:
            with self._tool_lists.watch_list(connection.tool_list):
                await stdio_session.serve_pipe()
        finally:
            if connection.updates is not None:
                connection.updates.close()


def _cancel_task(task: asyncio.Task[Any]) -> None:
    task.cancel()


def _parse_mode(text: str) -> SessionMode:
    try:
        return SessionMode(text) if text else SessionMode.EXECUTE
    except ValueError:
        raise errors.Invalid(f"{text!r} is not a mode.", hint=f"One of: {', '.join(SessionMode)}.") from None


def _parse_ids(text: str) -> frozenset[int | str]:
    """Return the ids of the requests that the relay has sent before."""
    with contextlib.suppress(msgspec.DecodeError):
        return frozenset(msgspec.json.decode(text or "[]", type=list[int | str]))
    return frozenset()
