"""The server as surfaces see it: identifies callers and carries out operations."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from maestro.domain.callers import Caller
from maestro.operations.base import Operation


@dataclass(frozen=True)
class SocketPeer:
    """The process at the other end of a Unix socket, as the kernel attests."""

    uid: int
    pid: int


class App(Protocol):
    """The server's interface for surfaces."""

    async def identify(self, *, token: str, peer: SocketPeer | None, again: bool = False) -> Caller:
        """Return the caller: by token, else by the process at the other end of the socket. `again`: a waiting
        client lost the server and repeats the request."""

    async def call(self, operation: Operation, request: msgspec.Struct, *, caller: Caller, key: str = "") -> Any:
        """Carry out one operation. `key` is an idempotency key: the same key returns the first result."""

    def stream(self, operation: Operation, request: msgspec.Struct, *, caller: Caller) -> AsyncIterator[Any]:
        """Carry out an operation that gives many answers."""
