"""Between a client and a server, frame by frame: a client that can die between any two, a relay that can cut."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

from maestro.client import thin
from maestro.testing.frames import Request

PATIENCE_SECONDS = 30.0
_HEAD_BYTES = 5

Frame = tuple[bytes, bytes]


def read_frame(sock: socket.socket) -> Frame | None:
    """The next frame; None if the other side has gone."""
    head = _read(sock, _HEAD_BYTES)
    payload = _read(sock, int.from_bytes(head[1:], "big")) if head is not None else None
    return (head[:1], payload) if head is not None and payload is not None else None


def _read(sock: socket.socket, size: int) -> bytes | None:
    data = b""
    while len(data) < size:
        try:
            piece = sock.recv(size - len(data))
        except ConnectionError:
            piece = b""
        if not piece:
            return None
        data += piece
    return data


def connect(path: Path) -> socket.socket:
    """A connection to the socket at `path`, however long that is."""
    sock = socket.socket(fileno=thin.connect(str(path)).detach())
    sock.settimeout(PATIENCE_SECONDS)
    return sock


class RawCommand:
    """One command as a client sends it, and its answer as far as one cares to read it."""

    def __init__(self, path: Path, *words: str, environment: Mapping[str, str], directory: str = "-") -> None:
        self.sock = connect(path)
        self.out = b""
        head = [thin.PROTOCOL, b"python", b"0", b"000", b"0", os.fsencode(directory)]
        head += [os.fsencode(f"{name}={value}") for name, value in environment.items()]
        request = b"\0".join(head) + b"\0\0" + b"".join(os.fsencode(word) + b"\0" for word in words)
        try:
            self.sock.sendall(thin.frame(b"R", request))
        except OSError:
            self.die()
            raise

    def read_to(self, kind: bytes) -> bytes | None:
        """The payload of the next frame of a kind; output before it is kept. None if the server has gone."""
        while (got := read_frame(self.sock)) is not None:
            if got[0] == b"O":
                self.out += got[1]
            if got[0] == kind:
                return got[1]
        return None

    def confirm(self) -> None:
        """Say that all output is out."""
        self.sock.sendall(thin.frame(b"C", b""))

    def die(self) -> None:
        """As a process that is killed does: its end of the connection is closed."""
        self.sock.close()


class Relay:
    """A socket of its own before a server's. `up` and `down`; what passes is counted, and may be cut off."""

    def __init__(self, path: Path, target: Path) -> None:
        self.path = path
        self.target = target
        self.requests: list[Request] = []
        self.seen: Counter[bytes] = Counter()  # frames from the server, by kind
        self.cut_at: Callable[[int, Frame], bytes | None] = lambda number, frame: None
        self._changed = threading.Condition()
        self._listener: socket.socket | None = None
        self._open: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []

    def up(self) -> None:
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(self.path))
        self._listener.listen(64)
        self._begin(self._accept, self._listener)

    def down(self) -> None:
        """Nobody listens any more, and every connection ends."""
        if self._listener is not None:
            self.path.unlink(missing_ok=True)
            self._end(self._listener)
            self._listener = None
        for sock in list(self._open):
            self._end(sock)
        for thread in self._threads:
            thread.join(PATIENCE_SECONDS)
        self._threads.clear()

    def wait_for(self, kind: bytes, count: int = 1) -> None:
        """Until so many frames of a kind have come from the server."""
        with self._changed:
            assert self._changed.wait_for(lambda: self.seen[kind] >= count, PATIENCE_SECONDS), f"no {kind!r} came"

    def _begin(self, work: Callable[..., None], *args: object) -> None:
        thread = threading.Thread(target=work, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return  # it is down
            client.settimeout(None)
            self._begin(self._serve, client)

    def _serve(self, client: socket.socket) -> None:
        self._open.add(client)
        try:
            request = read_frame(client)
            if request is not None:
                self._relay(client, request)
        except OSError:
            pass  # one of the two has gone
        finally:
            self._end(client)

    def _relay(self, client: socket.socket, request: Frame) -> None:
        server = connect(self.target)
        server.settimeout(None)
        self._open.add(server)
        try:
            self.requests.append(Request.parse(request[1]))
            number = len(self.requests)
            server.sendall(thin.frame(*request))
            self._begin(self._pass_up, client, server)
            self._pass_down(number, server, client)
        finally:
            self._end(server)

    def _pass_up(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while (got := read_frame(client)) is not None:
                server.sendall(thin.frame(*got))
        self._end(server)

    def _pass_down(self, number: int, server: socket.socket, client: socket.socket) -> None:
        """`cut_at` sees each frame; what it gives is all that still comes through."""
        with contextlib.suppress(OSError):
            while (got := read_frame(server)) is not None:
                left = self.cut_at(number, got)
                client.sendall(thin.frame(*got) if left is None else left)
                with self._changed:
                    self.seen[got[0]] += 1
                    self._changed.notify_all()
                if left is not None:
                    return

    def _end(self, sock: socket.socket) -> None:
        self._open.discard(sock)
        with contextlib.suppress(OSError):
            sock.shutdown(socket.SHUT_RDWR)
        sock.close()
