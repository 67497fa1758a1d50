"""Run one command on the server without a terminal, and return its output (docs/frames.md).

Runners, `maestro up`, the connect commands and `maestro doctor` use this module. A runner lives as long as its
program, so the module must not import large modules.
"""

from __future__ import annotations

import _socket
import os

from maestro import __version__
from maestro.client import main
from maestro.wire import frames

_SILENCE_SECONDS_MAX = 30.0  # without a byte from the server
_CALLER_VARIABLES = ("MAESTRO_TOKEN", "MAESTRO_SESSION_ID")


class CommandAnswer:
    """The exit code and the output of a command."""

    def __init__(self, code: int, out: bytes, err: bytes) -> None:
        self.code = code
        self.out = out
        self.err = err


def caller_variables() -> dict[str, str]:
    """Return the variables of this process by which the server identifies a session."""
    return {name: value for name in _CALLER_VARIABLES if (value := main.read_variable(name))}


def run_on_server(arguments: list[str], *, socket_path: str, environment: dict[str, str]) -> CommandAnswer:
    """Run one command; raise OSError if no server answers, or the server goes away before the answer is complete."""
    sock = main.connect_to_server(socket_path)
    try:
        sock.settimeout(_SILENCE_SECONDS_MAX)
        _send_frame(sock, frames.REQUEST, _request_payload(arguments, environment))
        return _read_answer(sock)
    finally:
        sock.close()


def _request_payload(arguments: list[str], environment: dict[str, str]) -> bytes:
    client, terminals, columns, directory = b"runner", b"000", b"0", b"-"  # without a terminal and a directory
    fields = [client, __version__.encode(), terminals, columns, directory]
    fields += [os.fsencode(f"{name}={value}") for name, value in environment.items()]
    return frames.pack_request(fields, [os.fsencode(argument) for argument in arguments])


def _read_answer(sock: _socket.socket) -> CommandAnswer:
    output = {frames.OUT: b"", frames.ERR: b""}
    while True:
        kind, payload = _read_frame(sock)
        if kind in output:
            output[kind] += payload
        elif kind == frames.CONFIRM:
            _send_frame(sock, frames.CONFIRMED, b"")
        elif kind == frames.EXIT:
            return CommandAnswer(int(payload), output[frames.OUT], output[frames.ERR])
        elif kind != frames.WAITING:
            raise OSError(f"the server sent the frame {kind!r}, which needs a client with a terminal")


def _read_frame(sock: _socket.socket) -> tuple[bytes, bytes]:
    head = _read_bytes(sock, frames.HEAD_BYTES)
    return head[:1], _read_bytes(sock, frames.payload_bytes(head))


def _read_bytes(sock: _socket.socket, size: int) -> bytes:
    parts, have = [], 0
    while have < size:
        data = sock.recv(min(size - have, main.CHUNK_BYTES))
        if not data:
            raise ConnectionResetError("the server closed the connection before the answer was complete")
        parts.append(data)
        have += len(data)
    return b"".join(parts)


def _send_frame(sock: _socket.socket, kind: bytes, payload: bytes) -> None:
    view = memoryview(frames.pack_frame(kind, payload))
    while view:
        view = view[sock.send(view) :]
