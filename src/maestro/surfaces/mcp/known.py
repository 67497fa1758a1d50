"""The sessions of the protocol over HTTP, and their ids.

The ids that clients see are ours: signed for one caller, so that they outlive the server. The SDK hears of a session
when it is first needed for it.
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

_ENDED_MAX = 10_000
_NONCE_BYTES = 9


@dataclass(eq=False)
class Known:
    """A session that a client has begun."""

    outer: str  # the id that the client knows
    caller: Caller
    handing: Handing
    hello: Any  # how the client introduced itself
    version: bytes = b""
    ready: bool = False  # the client has said that it is
    inner: str = ""  # the SDK's id; none before the SDK has heard of it
    introducing: asyncio.Lock = field(default_factory=asyncio.Lock)
    listened: bool = False
    busy: int = 0  # requests that the SDK has not answered yet, and open streams
    seen: float = 0.0
    in_flight: set[int | str] = field(default_factory=set)  # of those answered without the SDK
    tell: Callable[[], Awaitable[None]] | None = None  # says that its tools have changed, once the SDK knows it
    streams: int = 0  # on which it hears such things
    updates: Updates | None = None
    listing: Listing | None = None

    def touch(self) -> None:
        self.seen = time.monotonic()

    def is_idle(self, now: float) -> bool:
        most = limits.mcp_unheard_seconds_max if self.listened else limits.mcp_silent_seconds_max
        return not self.busy and now - self.seen > most


class Register:
    """Sessions by both of their ids."""

    def __init__(self, sign: Callable[[str], str]) -> None:
        self._sign = sign
        self._outer: dict[str, Known] = {}
        self._inner: dict[str, Known] = {}
        self._ended: dict[str, None] = {}

    def __len__(self) -> int:
        return len(self._outer)

    def __iter__(self) -> Iterator[Known]:
        return iter(list(self._outer.values()))

    def get(self, outer: str) -> Known | None:
        return self._outer.get(outer)

    def by_inner(self, inner: str) -> Known | None:
        return self._inner.get(inner)

    def add(self, known: Known) -> Known:
        known.touch()
        self._outer[known.outer] = known
        if known.inner:
            self._inner[known.inner] = known
        return known

    def introduced(self, known: Known, inner: str) -> None:
        """The SDK has heard of it, and calls it so."""
        known.inner = inner
        self._inner[inner] = known

    def drop(self, known: Known) -> None:
        """Forget it; its id is still good."""
        self._outer.pop(known.outer, None)
        self._inner.pop(known.inner, None)
        if known.updates is not None:
            known.updates.close()

    def end(self, known: Known) -> None:
        """Its client has ended it: its id is void."""
        self.drop(known)
        self._ended[known.outer] = None
        if len(self._ended) > _ENDED_MAX:
            del self._ended[next(iter(self._ended))]

    def mint(self, caller: Caller, client: str) -> str:
        """A new id, which also says what program its client is."""
        nonce = f"{tool_of(client) or 'other'}-{secrets.token_urlsafe(_NONCE_BYTES)}"
        return f"{nonce}.{self._mark(nonce, caller)}"

    def client_of(self, outer: str) -> str:
        return outer.partition("-")[0]

    def is_ours(self, outer: str, caller: Caller) -> bool:
        """Whether an id was made for this caller, and not ended since."""
        nonce, _, mark = outer.rpartition(".")
        good = bool(nonce) and hmac.compare_digest(mark.encode(), self._mark(nonce, caller).encode())
        return good and outer not in self._ended

    def _mark(self, nonce: str, caller: Caller) -> str:
        return self._sign(f"mcp {nonce} {caller.name}")
