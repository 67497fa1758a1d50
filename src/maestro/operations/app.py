"""What a surface sees of the server: it can be asked who is calling, and told to carry out an operation."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from maestro.domain.callers import Caller
from maestro.operations.base import Operation


@dataclass(frozen=True)
class Peer:
    """The process at the other end of a Unix socket, as the system attests it."""

    uid: int
    pid: int


class App(Protocol):
    """The server, to a surface."""

    async def identify(self, *, token: str, peer: Peer | None, again: bool = False) -> Caller:
        """Who is calling: by token first, else by the process at the other end of the socket. `again`: a client that
        waits has lost the server, and asks anew."""

    async def call(self, operation: Operation, request: msgspec.Struct, *, caller: Caller, key: str = "") -> Any:
        """Carry out one operation. `key` is an idempotency key: the same key answers with the first result."""

    def stream(self, operation: Operation, request: msgspec.Struct, *, caller: Caller) -> AsyncIterator[Any]:
        """Carry out an operation with many answers."""
