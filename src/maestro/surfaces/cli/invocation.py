"""One call of the command, as its client describes the call in the first frame.

Converts bytes and values only. `connection` reads and writes the socket; this module knows no command.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from maestro.wire import frames

columns_max = 10_000


class ProtocolViolation(Exception):
    """The other end violates the protocol."""


@dataclass(frozen=True, slots=True)
class Invocation:
    """A call of the command, as the client describes the call."""

    arguments: list[bytes]
    protocol: str = frames.PROTOCOL
    client: str = "python"
    version: str = ""
    stdin_tty: bool = False
    stdout_tty: bool = False
    stderr_tty: bool = False
    columns: int = 0  # 0: not known
    directory: str = ""  # "": the directory cannot be read, or its name is not UTF-8
    environment: Mapping[str, str] = field(default_factory=dict)


async def read_frame(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """Return the kind and payload of the next frame. Raise asyncio.IncompleteReadError after a disconnect."""
    head = await reader.readexactly(frames.HEAD_BYTES)
    try:
        size = frames.payload_bytes(head)
    except frames.FrameTooLarge as error:
        raise ProtocolViolation(str(error)) from None
    return head[:1], await reader.readexactly(size) if size else b""


def decode_invocation(payload: bytes) -> Invocation:
    """Decode the payload of a request frame. Raise ProtocolViolation if the payload is not a request."""
    try:
        fields, arguments = frames.unpack_request(payload)
    except ValueError as error:
        raise ProtocolViolation(str(error)) from None
    protocol, client, version, terminals, columns, directory = fields[: frames.REQUEST_FIELDS]
    tty = [mark == ord("1") for mark in terminals.ljust(3, b"0")]
    return Invocation(
        arguments=arguments,
        protocol=_decode_text(protocol),
        client=_decode_text(client),
        version=_decode_text(version),
        stdin_tty=tty[0],
        stdout_tty=tty[1],
        stderr_tty=tty[2],
        columns=min(int(columns), columns_max) if columns.isdigit() and len(columns) < 10 else 0,
        directory=_decode_directory(directory),
        environment=_decode_environment(fields[frames.REQUEST_FIELDS :]),
    )


def _decode_environment(entries: list[bytes]) -> dict[str, str]:
    pairs = (_decode_text(entry).partition("=") for entry in entries)
    return {name: value for name, _, value in pairs if name}


def _decode_directory(path: bytes) -> str:
    try:
        return path.decode() if path.startswith(b"/") else ""
    except UnicodeDecodeError:
        return ""  # neither the store nor an answer can hold a name that is not UTF-8


def _decode_text(data: bytes) -> str:
    return data.decode(errors="replace")
