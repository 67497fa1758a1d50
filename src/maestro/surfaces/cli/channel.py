"""The client as a command sees it: output, error output, and the client's input and files on demand."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol


class ClientGone(Exception):
    """The client has disconnected."""


@dataclass(frozen=True)
class HandOver:
    """The rest of a command, which the client carries out after the server's part (docs/frames.md)."""

    do: str
    facts: Mapping[str, Any]


class Channel(Protocol):
    """The client of one command."""

    stdout_tty: bool
    stderr_tty: bool
    columns: int
    color: bool
    stdin_tty: bool
    accepts_hand_over: bool  # whether the client runs on the server's machine and accepts a HandOver

    async def write_out(self, data: str | bytes) -> None:
        """Write to the client's standard output. The data may stay buffered until `flush`."""

    async def write_err(self, text: str) -> None:
        """Write to the client's standard error. The text may stay buffered until `flush`."""

    async def flush(self) -> None:
        """Send the buffered data. Wait while the client is slow."""

    async def read_stdin(self) -> bytes:
        """Return all of the client's standard input."""

    async def read_file(self, path: str) -> bytes:
        """Return the content of a file that the client reads."""

    async def open_file(self, path: str) -> str:
        """Let the client open a file or folder; return its real path, as the client's system knows the open file."""

    async def read_opened_file(self) -> bytes:
        """Return all of the file that `open_file` opened last."""

    async def announce_wait(self, milliseconds: int) -> None:
        """Tell the client that the command only waits from now on and may be repeated after a lost server."""

    async def confirm_output(self) -> bool:
        """Return whether the client confirms the writing of all output up to now."""


class PipedChannel(Channel, Protocol):
    """A client whose standard input is read piece by piece while the command runs."""

    def input_pieces(self) -> AsyncIterator[bytes]:
        """Yield the standard input as it arrives. An empty piece: the output before the last mark is written."""

    async def mark_output(self) -> None:
        """Request an empty piece for the time when the client has written all output so far."""


def wants_color(environment: Mapping[str, str], *, tty: bool) -> bool:
    """Return whether output may be coloured: by the person's variables first, then by the terminal."""
    if environment.get("NO_COLOR"):
        return False
    if environment.get("FORCE_COLOR", "0") not in ("", "0", "false"):
        return True
    return tty and environment.get("TERM") != "dumb"
