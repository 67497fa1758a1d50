"""What goes over the socket between the thin client and the server: small frames, kind and length in front.

Pure bytes and values: `connection` does the reading and writing, and nothing here knows a command.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field

from maestro.core import limits

PROTOCOL = "maestro/2"

# From the client: its request, a piece of input, a refusal of input, a confirmation.
REQUEST, DATA, NEGATIVE, CONFIRMED = b"R", b"D", b"N", b"C"
# To the client.
OUT, ERR, STDIN, FILE, CONFIRM, LOCAL, WAITING, EXIT = b"O", b"E", b"I", b"F", b"C", b"L", b"W", b"X"
OPEN = b"P"  # open a file and say its real path; an empty FILE then asks for its content

columns_max = 10_000

_HEAD = struct.Struct(">cI")
_HEAD_FIELDS = 6


class Garbled(Exception):
    """The other side does not speak this protocol."""


@dataclass(frozen=True, slots=True)
class Invocation:
    """One run of the command, as its client tells it."""

    arguments: list[bytes]
    protocol: str = PROTOCOL
    client: str = "python"
    version: str = ""
    stdin_tty: bool = False
    stdout_tty: bool = False
    stderr_tty: bool = False
    columns: int = 0  # 0: not known
    directory: str = ""  # "": it could not be read, or has no readable name
    environment: Mapping[str, str] = field(default_factory=dict)


def pack(kind: bytes, payload: bytes = b"") -> bytes:
    """One frame."""
    return _HEAD.pack(kind, len(payload)) + payload


def pack_all(kind: bytes, data: bytes) -> bytes:
    """As many frames as `data` needs."""
    most = limits.frame_bytes_max
    if len(data) <= most:
        return pack(kind, data)
    return b"".join(pack(kind, data[at : at + most]) for at in range(0, len(data), most))


async def read(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """The next frame's kind and payload; asyncio.IncompleteReadError when the other side has gone."""
    kind, size = _HEAD.unpack(await reader.readexactly(_HEAD.size))
    if size > limits.frame_bytes_max:
        raise Garbled(f"a frame of {size} bytes")
    return kind, await reader.readexactly(size) if size else b""


def invocation(payload: bytes) -> Invocation:
    """A request frame's payload, read; Garbled when it is none."""
    head, found, rest = payload.partition(b"\0\0")
    fields = head.split(b"\0")
    if not found or len(fields) < _HEAD_FIELDS or not fields[0].startswith(b"maestro/"):
        raise Garbled("no request")
    protocol, client, version, terminals, columns, directory = fields[:_HEAD_FIELDS]
    tty = [mark == ord("1") for mark in terminals.ljust(3, b"0")]
    return Invocation(
        arguments=rest.split(b"\0")[:-1],
        protocol=_text(protocol),
        client=_text(client),
        version=_text(version),
        stdin_tty=tty[0],
        stdout_tty=tty[1],
        stderr_tty=tty[2],
        columns=min(int(columns), columns_max) if columns.isdigit() and len(columns) < 10 else 0,
        directory=_directory(directory),
        environment=_environment(fields[_HEAD_FIELDS:]),
    )


def _environment(entries: list[bytes]) -> dict[str, str]:
    pairs = (_text(entry).partition("=") for entry in entries)
    return {name: value for name, _, value in pairs if name}


def _directory(path: bytes) -> str:
    try:
        return path.decode() if path.startswith(b"/") else ""
    except UnicodeDecodeError:
        return ""  # a name that no store or answer could hold


def _text(data: bytes) -> str:
    return data.decode(errors="replace")
