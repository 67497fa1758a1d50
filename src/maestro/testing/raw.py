"""A client that can end between any two frames, and a relay between client and server that can cut connections."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

from maestro.client import main
from maestro.testing.frames import ClientRequest
from maestro.wire import frames

PATIENCE_SECONDS = 30.0

Frame = tuple[bytes, bytes]


def read_frame(sock: socket.socket) -> Frame | None:
    """Return the next frame; None after a disconnect."""
    head = _read_bytes(sock, frames.HEAD_BYTES)
    payload = _read_bytes(sock, frames.payload_bytes(head)) if head is not None else None
    return (head[:1], payload) if head is not None and payload is not None else None


def _read_bytes(sock: socket.socket, size: int) -> bytes | None:
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


def connect_to(path: Path) -> socket.socket:
    """Return a connection to the socket at `path`, which may be longer than a socket address."""
    sock = socket.socket(fileno=main.connect_to_server(str(path)).detach())
    sock.settimeout(PATIENCE_SECONDS)
    return sock


class RawCommand:
    """A command as a client sends it. The test reads any part of the answer."""

    def __init__(self, path: Path, *arguments: str, environment: Mapping[str, str], directory: str = "-") -> None:
        self.sock = connect_to(path)
        self.out = b""
        fields = [b"python", b"0", b"000", b"0", os.fsencode(directory)]
        fields += [os.fsencode(f"{name}={value}") for name, value in environment.items()]
        request = frames.pack_request(fields, [os.fsencode(argument) for argument in arguments])
        try:
            self.sock.sendall(frames.pack_frame(frames.REQUEST, request))
        except OSError:
            self.close_connection()
            raise

    def read_to(self, kind: bytes) -> bytes | None:
        """Return the payload of the next frame of a kind, and keep earlier output. None after a disconnect."""
        while (frame := read_frame(self.sock)) is not None:
            if frame[0] == b"O":
                self.out += frame[1]
            if frame[0] == kind:
                return frame[1]
        return None

    def confirm_output(self) -> None:
        """Confirm that all output is written."""
        self.sock.sendall(frames.pack_frame(b"C", b""))

    def close_connection(self) -> None:
        """Close the connection, as the end of a killed process does."""
        self.sock.close()


class FrameRelay:
    """A socket in front of a server's socket. It counts the frames, and can cut connections."""

    def __init__(self, path: Path, target: Path) -> None:
        self.path = path
        self.target = target
        self.requests: list[ClientRequest] = []
        self.seen: Counter[bytes] = Counter()  # frames from the server, by kind
        self.cut_at: Callable[[int, Frame], bytes | None] = lambda number, frame: None
        self._frame_seen = threading.Condition()
        self._listener: socket.socket | None = None
        self._open_sockets: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []

    def start_listening(self) -> None:
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(self.path))
        self._listener.listen(64)
        self._start_thread(self._accept_clients, self._listener)

    def stop_listening(self) -> None:
        """Stop listening, and end every connection."""
        if self._listener is not None:
            self.path.unlink(missing_ok=True)
            self._close_socket(self._listener)
            self._listener = None
        for sock in list(self._open_sockets):
            self._close_socket(sock)
        for thread in self._threads:
            thread.join(PATIENCE_SECONDS)
        self._threads.clear()

    def wait_for_frames(self, kind: bytes, count: int = 1) -> None:
        """Wait until the server has sent `count` frames of a kind."""
        with self._frame_seen:
            assert self._frame_seen.wait_for(lambda: self.seen[kind] >= count, PATIENCE_SECONDS), f"no {kind!r} came"

    def _start_thread(self, work: Callable[..., None], *args: object) -> None:
        thread = threading.Thread(target=work, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept_clients(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return  # the relay is down
            client.settimeout(None)
            self._start_thread(self._serve_client, client)

    def _serve_client(self, client: socket.socket) -> None:
        self._open_sockets.add(client)
        try:
            request = read_frame(client)
            if request is not None:
                self._relay_frames(client, request)
        except OSError:
            pass  # the client or the server has disconnected
        finally:
            self._close_socket(client)

    def _relay_frames(self, client: socket.socket, request: Frame) -> None:
        server = connect_to(self.target)
        server.settimeout(None)
        self._open_sockets.add(server)
        try:
            self.requests.append(ClientRequest.parse(request[1]))
            number = len(self.requests)
            server.sendall(frames.pack_frame(*request))
            self._start_thread(self._pass_up, client, server)
            self._pass_down(number, server, client)
        finally:
            self._close_socket(server)

    def _pass_up(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while (frame := read_frame(client)) is not None:
                server.sendall(frames.pack_frame(*frame))
        self._close_socket(server)

    def _pass_down(self, number: int, server: socket.socket, client: socket.socket) -> None:
        """Pass frames to the client. If `cut_at` returns bytes for a frame, send only these and stop."""
        with contextlib.suppress(OSError):
            while (frame := read_frame(server)) is not None:
                rest = self.cut_at(number, frame)
                client.sendall(frames.pack_frame(*frame) if rest is None else rest)
                with self._frame_seen:
                    self.seen[frame[0]] += 1
                    self._frame_seen.notify_all()
                if rest is not None:
                    return

    def _close_socket(self, sock: socket.socket) -> None:
        self._open_sockets.discard(sock)
        with contextlib.suppress(OSError):
            sock.shutdown(socket.SHUT_RDWR)
        sock.close()
