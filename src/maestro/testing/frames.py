"""A scripted server for the frames of docs/frames.md, for tests and benchmarks of the clients.

The server knows nothing of Maestro. A script, an ordinary function, serves each connection with its request.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from maestro.wire import frames

PATIENCE_SECONDS = 20.0
CHUNK_BYTES = 1 << 16


@dataclass(frozen=True)
class ClientRequest:
    """The fields of a client's first frame."""

    protocol: bytes
    client: bytes
    version: bytes
    terminals: bytes
    columns: bytes
    directory: bytes
    variables: dict[bytes, bytes]
    arguments: list[bytes]

    @classmethod
    def parse(cls, payload: bytes) -> ClientRequest:
        fields, arguments = frames.unpack_request(payload)
        protocol, client, version, terminals, columns, directory, *entries = fields
        variables = {name: value for name, _, value in (entry.partition(b"=") for entry in entries)}
        return cls(protocol, client, version, terminals, columns, directory, variables, arguments)


class InputRefused(Exception):
    """The client could not read the requested input."""


class ScriptedConnection:
    """The server's side of the exchange with a client."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.stream = sock.makefile("rb")

    def send_frame(self, kind: bytes, payload: bytes = b"") -> None:
        self.sock.sendall(frames.pack_frame(kind, payload))

    def receive_frame(self) -> tuple[bytes, bytes] | None:
        """Return the client's next frame; None after its disconnect."""
        try:
            head = self.stream.read(frames.HEAD_BYTES)
            if len(head) < frames.HEAD_BYTES:
                return None
            return head[:1], self.stream.read(frames.payload_bytes(head))
        except ConnectionError:
            return None

    def receive_request(self) -> ClientRequest:
        frame = self.receive_frame()
        if frame is None or frame[0] != b"R":
            raise AssertionError(f"a request should come first, not {frame!r}")
        return ClientRequest.parse(frame[1])

    def request_input(self, kind: bytes, payload: bytes = b"") -> bytes:
        """Return all data that the client sends for an I or F frame."""
        self.send_frame(kind, payload)
        pieces = []
        while frame := self.receive_frame():
            if frame[0] == b"N":
                raise InputRefused(frame[1].decode())
            if not frame[1]:
                break
            pieces.append(frame[1])
        return b"".join(pieces)

    def is_output_confirmed(self) -> bool:
        """Return whether the client confirms that all output is written; False after its disconnect."""
        try:
            self.send_frame(b"C")
        except BrokenPipeError:
            return False
        return self.receive_frame() == (b"C", b"")

    def send_exit(self, code: int = 0) -> None:
        self.send_frame(b"X", b"%d" % code)


Script = Callable[[ScriptedConnection, ClientRequest], None]


@dataclass
class FrameServer:
    """Listens at a path inside a `with` block. The end of the block raises the first error of a script."""

    path: Path
    script: Script
    requests: list[ClientRequest] = field(default_factory=list)
    problems: list[BaseException] = field(default_factory=list)
    threads: list[threading.Thread] = field(default_factory=list)

    def __enter__(self) -> Self:
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(str(self.path))
        self.listener.listen(64)
        self.start_thread(self.accept_clients)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.listener.shutdown(socket.SHUT_RDWR)
        for thread in self.threads:
            thread.join(PATIENCE_SECONDS)
        self.listener.close()
        self.path.unlink(missing_ok=True)
        if error is None and self.problems:
            raise self.problems[0]

    def start_thread(self, work: Callable[..., None], *args: object) -> None:
        thread = threading.Thread(target=work, args=args, daemon=True)
        self.threads.append(thread)
        thread.start()

    def accept_clients(self) -> None:
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return  # the block has ended
            self.start_thread(self.serve_client, sock)

    def serve_client(self, sock: socket.socket) -> None:
        sock.settimeout(PATIENCE_SECONDS)
        with sock:
            connection = ScriptedConnection(sock)
            with connection.stream:
                try:
                    if sock.recv(1, socket.MSG_PEEK):  # a client that only checks for a server sends no request
                        request = connection.receive_request()
                        self.requests.append(request)
                        self.script(connection, request)
                except BrokenPipeError:
                    pass  # the client disconnected before the script's end
                except Exception as error:  # noqa: BLE001 (the end of the `with` block raises it)
                    self.problems.append(error)
