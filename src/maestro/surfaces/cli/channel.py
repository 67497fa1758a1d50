"""What a command sees of its client: somewhere to write, and the client's input and files on demand."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol


class Gone(Exception):
    """The client has gone away."""


@dataclass(frozen=True)
class HandOver:
    """The server's part is done: the client goes on with the rest by itself (docs/frames.md)."""

    do: str
    facts: Mapping[str, Any]


class Channel(Protocol):
    """The client of one command."""

    stdout_tty: bool
    stderr_tty: bool
    columns: int
    color: bool
    stdin_tty: bool
    can_go_on: bool  # whether it is on the server's machine, and takes a HandOver

    async def out(self, data: str | bytes) -> None:
        """Write to the client's standard output, sooner or later."""

    async def err(self, text: str) -> None:
        """Write to the client's standard error, sooner or later."""

    async def flush(self) -> None:
        """Send what was written; waits while the client is slow."""

    async def stdin(self) -> bytes:
        """All of the client's standard input."""

    async def file(self, path: str) -> bytes:
        """All of a file, as the client reads it."""

    async def open(self, path: str) -> str:
        """Let the client open a file or folder; return its real path, as the client's system knows the open file."""

    async def opened(self) -> bytes:
        """Return all of the file that `open` opened last."""

    async def waiting(self, milliseconds: int) -> None:
        """From here on the command only waits: a client that loses the server may ask again."""

    async def confirm(self) -> bool:
        """Whether the client says that everything so far has left it."""


class Piped(Channel, Protocol):
    """A client that goes on talking."""

    def pieces(self) -> AsyncIterator[bytes]:
        """Its standard input as it comes; an empty piece says that the output before the last mark is out."""

    async def mark(self) -> None:
        """Ask to be told, among the pieces, once the client has written out everything so far."""


def wants_color(environment: Mapping[str, str], *, tty: bool) -> bool:
    """Whether output may be coloured: what a person said first, then what the terminal can."""
    if environment.get("NO_COLOR"):
        return False
    if environment.get("FORCE_COLOR", "0") not in ("", "0", "false"):
        return True
    return tty and environment.get("TERM") != "dumb"
