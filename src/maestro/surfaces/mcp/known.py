"""The register of MCP sessions over HTTP, and their ids.

Maestro makes the ids that clients see, and signs each id for one caller. The ids stay valid after a restart of the
server. The SDK learns of a session when the session first needs the SDK.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from maestro.core import limits
from maestro.domain.callers import Caller
from maestro.surfaces.mcp.handing import Handing
from maestro.surfaces.mcp.lines import tool_of
from maestro.surfaces.mcp.listings import Listing
from maestro.surfaces.mcp.updates import Updates

_VOIDED_MAX = 10_000
_NONCE_BYTES = 9


@dataclass(eq=False)
class Known:
    """An MCP session of a client."""

    outer: str  # the id that the client uses
    caller: Caller
    handing: Handing
    hello: Any  # the parameters of the client's `initialize`
    version: bytes = b""
    ready: bool = False  # the client has sent `notifications/initialized`
    inner: str = ""  # the SDK's id; empty before the SDK knows the session
    introducing: asyncio.Lock = field(default_factory=asyncio.Lock)
    listened: bool = False
    busy: int = 0  # open streams, and requests that the SDK has not answered
    seen: float = 0.0
    in_flight: set[int | str] = field(default_factory=set)  # ids of requests that are being answered without the SDK
    tell: Callable[[], Awaitable[None]] | None = (
        None  # notifies the client of changed tools, once the SDK knows the session
    )
    streams: int = 0  # open streams for notifications
    updates: Updates | None = None
    listing: Listing | None = None

    def touch(self) -> None:
        self.seen = time.monotonic()

    def is_idle(self, now: float) -> bool:
        idle_seconds_max = limits.mcp_unheard_seconds_max if self.listened else limits.mcp_silent_seconds_max
        return not self.busy and now - self.seen > idle_seconds_max


class Register:
    """The MCP sessions, by the client's id and by the SDK's id."""

    def __init__(self, sign: Callable[[str], str]) -> None:
        self._sign = sign
        self._by_outer: dict[str, Known] = {}
        self._by_inner: dict[str, Known] = {}
        self._voided: dict[str, None] = {}

    def __len__(self) -> int:
        return len(self._by_outer)

    def __iter__(self) -> Iterator[Known]:
        return iter(list(self._by_outer.values()))

    def get(self, outer: str) -> Known | None:
        return self._by_outer.get(outer)

    def by_inner(self, inner: str) -> Known | None:
        return self._by_inner.get(inner)

    def add(self, session: Known) -> Known:
        session.touch()
        self._by_outer[session.outer] = session
        if session.inner:
            self._by_inner[session.inner] = session
        return session

    def introduced(self, session: Known, inner: str) -> None:
        """Record the SDK's id of a session."""
        session.inner = inner
        self._by_inner[inner] = session

    def drop(self, session: Known) -> None:
        """Forget a session. Its id stays valid."""
        self._by_outer.pop(session.outer, None)
        self._by_inner.pop(session.inner, None)
        if session.updates is not None:
            session.updates.close()

    def end(self, session: Known) -> None:
        """Forget a session and void its id."""
        self.drop(session)
        self._voided[session.outer] = None
        if len(self._voided) > _VOIDED_MAX:
            del self._voided[next(iter(self._voided))]

    def mint(self, caller: Caller, client: str) -> str:
        """Return a new session id. The id also names the client's tool."""
        nonce = f"{tool_of(client) or 'other'}-{secrets.token_urlsafe(_NONCE_BYTES)}"
        return f"{nonce}.{self._sign_nonce(nonce, caller)}"

    def client_of(self, outer: str) -> str:
        return outer.partition("-")[0]

    def is_ours(self, outer: str, caller: Caller) -> bool:
        """Return whether an id was made for this caller and is not void."""
        nonce, _, signature = outer.rpartition(".")
        is_signed = bool(nonce) and hmac.compare_digest(signature.encode(), self._sign_nonce(nonce, caller).encode())
        return is_signed and outer not in self._voided

    def _sign_nonce(self, nonce: str, caller: Caller) -> str:
        return self._sign(f"mcp {nonce} {caller.name}")
