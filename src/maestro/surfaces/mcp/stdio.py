"""The server's side of `maestro mcp`: one pipe, whose lines are messages, and whose process says whose it is.

The relay at the other end writes out what it is told and says so, which is what makes mail read. It outlives the
server: then it comes again, names what it had sent before, and nothing is done twice.
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
    """Where a pipe comes from."""

    peer: Peer | None
    directory: str
    environment: Mapping[str, str]


class PipeLine:
    """A pipe, as the engine sees it."""

    gone: asyncio.Event | None = None  # what is under way is cancelled when the pipe ends

    def __init__(self, host: Host, origin: Origin, *, hang_up: Callable[[], None]) -> None:
        self.updates: Updates | None = None
        self.listing: Listing | None = None
        self.receipts: dict[int | str, tuple[str, Caller]] = {}
        self._host = host
        self._origin = origin
        self._hang_up = hang_up
        self._nonce = origin.environment.get(NONCE, "")
        self._resent = _ids(origin.environment.get(RESENT, ""))
        self._registering = asyncio.Lock()

    async def caller(self, client: str) -> Caller:
        """Who a pipe belongs to: its token's session, the session that its process descends from, or a new one for
        the agent that started it. The person's own token is the person."""
        token = self._origin.environment.get(TOKEN, "")
        caller = await self._host.identify(token=token, peer=self._origin.peer)
        if token or caller.role is not Role.PERSON or not client:
            return caller
        async with self._registering:
            caller = await self._host.identify(token="", peer=self._origin.peer)
            return await self._registered(caller, client) if caller.role is Role.PERSON else caller

    async def known_caller(self) -> Caller:
        """Who it belongs to as things are; nobody is registered for that."""
        return await self.caller("")

    def listed(self, caller: Caller) -> None:
        if self.listing is not None:
            self.listing.told(caller)

    async def _registered(self, person: Caller, client: str) -> Caller:
        """An agent that was started by hand: it is the process that started the pipe."""
        tool = tool_of(client) or None
        environment = self._origin.environment
        arrival = Arrival(
            self._origin.peer,
            self._origin.directory,
            name=environment.get(NAME) or tool or _name(client),
            tool=tool,
            mode=_mode(environment.get(MODE, "")),
        )
        return await arrived(self._host, person, arrival)

    def order(self, request_id: int | str | None, name: str, arguments: Mapping[str, Any], client: str) -> Order:
        told = self._origin.environment.get(WAIT_SECONDS, "")
        key = ""
        if self._nonce and request_id is not None:
            said = msgspec.json.encode([request_id, name, arguments], order="deterministic")
            key = f"mcp-{self._nonce[:64]}-{hashlib.sha256(said).hexdigest()[:32]}"
        return Order(
            key=key,
            seconds_max=patience(client, told),
            directory=self._origin.directory,
            again=request_id in self._resent,
        )

    def shown(self, request_id: int | str | None, receipt: str, caller: Caller) -> None:
        if request_id is not None:
            self.receipts[request_id] = (receipt, caller)

    def end(self) -> None:
        self._hang_up()


class Stdio:
    """Serves pipes."""

    def __init__(self, host: Host, short: Short, engine: LazyEngine, listings: Listings) -> None:
        self._host = host
        self._short = short
        self._engine = engine
        self._listings = listings

    async def serve(self, pipe: Pipe, origin: Origin) -> None:
        """One pipe, until its input ends."""
        task = asyncio.current_task()
        assert task is not None
        line = PipeLine(self._host, origin, hang_up=lambda: _cancel(task))
        talk = Talk(self._host, pipe, line, self._short, self._engine)
        line.listing = Listing(line.known_caller, talk.tools_changed)
        try:
            with self._listings.keep(line.listing):
                await talk.run()
        finally:
            if line.updates is not None:
                line.updates.close()


def _cancel(task: asyncio.Task[Any]) -> None:
    task.cancel()


def _name(client: str) -> str:
    """What a client calls itself, as a session can be called."""
    said = re.sub(r"[^A-Za-z0-9._-]+", "-", client)[: limits.name_chars_max - 8].strip("._-")
    return said if said and said not in RESERVED else "assistant"


def _mode(said: str) -> Mode:
    try:
        return Mode(said) if said else Mode.EXECUTE
    except ValueError:
        raise errors.Invalid(f"{said!r} is no mode.", hint=f"One of: {', '.join(Mode)}.") from None


def _ids(said: str) -> frozenset[int | str]:
    """The requests that a relay had sent before."""
    with contextlib.suppress(msgspec.DecodeError):
        return frozenset(msgspec.json.decode(said or "[]", type=list[int | str]))
    return frozenset()
