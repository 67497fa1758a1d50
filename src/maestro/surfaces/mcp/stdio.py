"""The server's part of `maestro mcp`: a pipe of messages, one per line. The pipe's process identifies the caller.

The relay at the other end writes the answers out and confirms them, which makes the shown mail read. The relay
outlives the server. After a restart the relay connects again and names the requests that it has sent before, so that
no request is carried out twice.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from maestro.core import errors, limits
from maestro.domain.callers import Caller, Role
from maestro.domain.identity import RESERVED
from maestro.domain.sessions import Mode
from maestro.operations.app import Peer
from maestro.surfaces.arrivals import Arrival, arrived
from maestro.surfaces.mcp.calls import Order
from maestro.surfaces.mcp.lazy import LazyEngine
from maestro.surfaces.mcp.lines import patience, tool_of
from maestro.surfaces.mcp.listings import Listing, Listings
from maestro.surfaces.mcp.ports import Host
from maestro.surfaces.mcp.short import Short
from maestro.surfaces.mcp.talk import Pipe, Talk
from maestro.surfaces.mcp.updates import Updates

TOKEN = "MAESTRO_TOKEN"
NONCE = "MAESTRO_MCP_NONCE"
RESENT = "MAESTRO_MCP_RESENT"
WAIT_SECONDS = "MAESTRO_MCP_WAIT_SECONDS"
MODE = "MAESTRO_MCP_MODE"
NAME = "MAESTRO_MCP_NAME"


@dataclass(frozen=True)
class Origin:
    """The process, directory and environment behind a pipe."""

    peer: Peer | None
    directory: str
    environment: Mapping[str, str]


class PipeLine:
    """The connection of a pipe, as the engine sees it."""

    gone: asyncio.Event | None = None  # the end of the pipe cancels running calls

    def __init__(self, host: Host, origin: Origin, *, hang_up: Callable[[], None]) -> None:
        self.updates: Updates | None = None
        self.listing: Listing | None = None
        self.receipts: dict[int | str, tuple[str, Caller]] = {}
        self._host = host
        self._origin = origin
        self._hang_up = hang_up
        self._nonce = origin.environment.get(NONCE, "")
        self._resent_ids = _parse_ids(origin.environment.get(RESENT, ""))
        self._registration_lock = asyncio.Lock()

    async def caller(self, client: str) -> Caller:
        """Return the caller of the pipe: the session of its token, the session above its process, or a new session.

        An agent that the person started by hand gets a new session. The person's own token is the person.
        """
        token = self._origin.environment.get(TOKEN, "")
        caller = await self._host.identify(token=token, peer=self._origin.peer)
        if token or caller.role is not Role.PERSON or not client:
            return caller
        async with self._registration_lock:
            caller = await self._host.identify(token="", peer=self._origin.peer)
            return await self._register_agent(caller, client) if caller.role is Role.PERSON else caller

    async def known_caller(self) -> Caller:
        """Return the caller of the pipe without registering a new session."""
        return await self.caller("")

    def listed(self, caller: Caller) -> None:
        if self.listing is not None:
            self.listing.told(caller)

    async def _register_agent(self, person: Caller, client: str) -> Caller:
        """Register an agent that the person started by hand. The agent is the process that started the pipe."""
        tool = tool_of(client) or None
        environment = self._origin.environment
        arrival = Arrival(
            self._origin.peer,
            self._origin.directory,
            name=environment.get(NAME) or tool or _session_name(client),
            tool=tool,
            mode=_parse_mode(environment.get(MODE, "")),
        )
        return await arrived(self._host, person, arrival)

    def order(self, request_id: int | str | None, name: str, arguments: Mapping[str, Any], client: str) -> Order:
        given_seconds = self._origin.environment.get(WAIT_SECONDS, "")
        key = ""
        if self._nonce and request_id is not None:
            call = msgspec.json.encode([request_id, name, arguments], order="deterministic")
            key = f"mcp-{self._nonce[:64]}-{hashlib.sha256(call).hexdigest()[:32]}"
        return Order(
            key=key,
            seconds_max=patience(client, given_seconds),
            directory=self._origin.directory,
            again=request_id in self._resent_ids,
        )

    def shown(self, request_id: int | str | None, receipt: str, caller: Caller) -> None:
        if request_id is not None:
            self.receipts[request_id] = (receipt, caller)

    def end(self) -> None:
        self._hang_up()


class Stdio:
    """The server of all pipes."""

    def __init__(self, host: Host, short: Short, engine: LazyEngine, listings: Listings) -> None:
        self._host = host
        self._short = short
        self._engine = engine
        self._listings = listings

    async def serve(self, pipe: Pipe, origin: Origin) -> None:
        """Serve one pipe until its input ends."""
        task = asyncio.current_task()
        assert task is not None
        connection = PipeLine(self._host, origin, hang_up=lambda: _cancel_task(task))
        stdio_session = Talk(self._host, pipe, connection, self._short, self._engine)
        connection.listing = Listing(connection.known_caller, stdio_session.tools_changed)
        try:
            with self._listings.keep(connection.listing):
                await stdio_session.run()
        finally:
            if connection.updates is not None:
                connection.updates.close()


def _cancel_task(task: asyncio.Task[Any]) -> None:
    task.cancel()


def _session_name(client: str) -> str:
    """Return a client's name in the form of a session's name."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", client)[: limits.name_chars_max - 8].strip("._-")
    return name if name and name not in RESERVED else "assistant"


def _parse_mode(text: str) -> Mode:
    try:
        return Mode(text) if text else Mode.EXECUTE
    except ValueError:
        raise errors.Invalid(f"{text!r} is not a mode.", hint=f"One of: {', '.join(Mode)}.") from None


def _parse_ids(text: str) -> frozenset[int | str]:
    """Return the ids of the requests that the relay has sent before."""
    with contextlib.suppress(msgspec.DecodeError):
        return frozenset(msgspec.json.decode(text or "[]", type=list[int | str]))
    return frozenset()
