"""`maestro mcp`: pass lines between a program and the server, and outlive the server.

The MCP server itself is a part of Maestro's server: the relay starts at once and takes only a few megabytes. The
relay keeps the state that another server needs: the program's handshake, its subscriptions and its open requests. The
relay repeats these lines under the same nonce, which lets the server carry out no request twice (docs/mcp.md).
"""

from __future__ import annotations

import _socket
import argparse
import json
import os
import select
import time
from typing import Any

from maestro.client import local, thin

WORD = "__mcp"  # the command with which the relay introduces itself to the server
_RECONNECT_SECONDS_MAX = 30.0
_PAUSE_SECONDS = 0.05
_PAUSE_SECONDS_MAX = 1.0
_END_SECONDS_MAX = 2.0
_OUTBOX_BYTES_MAX = 1 << 20
_NO_SERVER = -32000
_MODES = ("execute", "coordinate", "plan")


def run(arguments: list[str]) -> int:
    """Relay lines until the program closes its end."""
    parser = argparse.ArgumentParser(
        prog="maestro mcp",
        description="Serve MCP on standard input and output to the program that starts this command.",
    )
    parser.add_argument("--mode", choices=_MODES, help="the mode of an agent that was started by hand")
    parser.add_argument("--name", metavar="NAME", help="the name of an agent that was started by hand")
    chosen = parser.parse_args(arguments)
    if os.isatty(0):
        raise thin.Ended(
            thin.USAGE, "`maestro mcp` serves programs: add it to the MCP servers of a program (docs/mcp.md)"
        )
    if not thin.setting("MAESTRO_SOCKET") and thin.setting("MAESTRO_SERVER_URL"):
        from maestro.client import bridge

        return bridge.run()
    for name, value in (("MODE", chosen.mode), ("NAME", chosen.name), ("NONCE", os.urandom(12).hex())):
        if value:
            os.environ[f"MAESTRO_MCP_{name}"] = value
    return Relay().run()


class Lost(Exception):
    """The connection to the server has ended."""


class Memory:
    """The lines that the relay must repeat to a new server."""

    def __init__(self) -> None:
        self.hello: list[bytes] = []  # the lines `initialize` and `notifications/initialized`
        self.watched: dict[str, bytes] = {}  # subscriptions by URI
        self.waiting: dict[str, bytes] = {}  # open requests by id; the id is JSON
        self.unheard: set[str] = set()  # ids of repeated requests whose answers the program already has

    def sent(self, line: bytes) -> None:
        """Record a line that the program sends."""
        message = _decode_message(line)
        method, params = message.get("method"), message.get("params")
        key = _request_key(message)
        if method == "initialize":
            self.hello = [line]
        elif method == "notifications/initialized":
            self.hello = [*self.hello[:1], line]
        elif method == "notifications/cancelled" and isinstance(params, dict):
            self.waiting.pop(json.dumps(params.get("requestId")), None)
        elif method == "resources/subscribe" and isinstance(params, dict):
            self.watched[str(params.get("uri"))] = line
        elif method == "resources/unsubscribe" and isinstance(params, dict):
            self.watched.pop(str(params.get("uri")), None)
        if method and key:
            self.waiting[key] = line

    def is_news(self, line: bytes) -> bool:
        """Record a line that the server sends; return whether the program must get the line."""
        message = _decode_message(line)
        if "method" in message:
            return True
        key = _request_key(message)
        self.waiting.pop(key, None)
        if key in self.unheard:
            self.unheard.discard(key)
            return False
        return True

    def again(self) -> tuple[list[str], list[bytes]]:
        """Return the ids of the open requests, and all lines to repeat to a new server."""
        known_lines = self.hello + list(self.watched.values())
        self.unheard = {
            key for line in known_lines if (key := _request_key(_decode_message(line))) and key not in self.waiting
        }
        open_requests = {key: line for key, line in self.waiting.items() if line not in known_lines}
        return list(open_requests), known_lines + list(open_requests.values())

    def give_up(self) -> list[bytes]:
        """Drop the open requests, and return an error for each of them: no server answers."""
        message = "No Maestro server answers. Try again later; the person starts a server with: maestro up"
        error = {"code": _NO_SERVER, "message": message}
        keys = [key for key, line in self.waiting.items() if line not in self.hello]
        for key in keys:
            del self.waiting[key]
        return [
            json.dumps({"jsonrpc": "2.0", "id": json.loads(key), "error": error}).encode() + b"\n" for key in keys
        ]


class Relay:
    """The relay between the pipes of one program and the server."""

    def __init__(self) -> None:
        self.memory = Memory()
        self.sock: _socket.socket | None = None
        self.is_open = True  # whether the program has not closed its end
        self.ends_at = 0.0
        self.typed = b""  # an unfinished line of the program
        self.inbox = b""
        self.said = b""  # an unfinished line of the server
        self.outbox = bytearray()
        self.unasked = bytearray()  # input frames, until the server asks for input
        self.is_asked = False
        self.pause = _PAUSE_SECONDS

    def run(self) -> int:
        self.connect(waits=True)
        while True:
            try:
                code = self.talk()
            except Lost:
                code = self.come_back()
            if code is not None:
                return code

    def connect(self, *, waits: bool = False) -> None:
        """Connect, and repeat the known lines to the server. `waits`: wait for a server that is restarting."""
        path = thin.socket_path()
        try:
            self.sock = thin.connect(path)
        except OSError as error:
            if not waits:
                raise
            self.sock = local.wait_for_server(path, error)
        resent, lines = self.memory.again()
        os.environ["MAESTRO_MCP_RESENT"] = f"[{','.join(resent)}]"
        self.sock.setblocking(False)
        self.inbox = self.said = b""
        self.outbox = bytearray(thin.frame(b"R", thin.request([WORD])))
        self.unasked.clear()
        self.is_asked = False
        for line in lines:
            self.pass_on(line)
        if not self.is_open:
            self.close_input()

    def come_back(self) -> int | None:
        """Wait for the next server; return the exit code if the program goes away meanwhile."""
        if self.sock is not None:
            self.sock.close()
            self.sock = None
        if not self.is_open:
            return 0
        until = time.monotonic() + _RECONNECT_SECONDS_MAX
        while time.monotonic() < until:
            # The program may close its end while no server answers.
            if not self.listen_until(time.monotonic() + self.pause):
                return 0
            self.pause = min(self.pause * 2, _PAUSE_SECONDS_MAX)
            try:
                self.connect()
            except OSError:
                continue
            return None
        for line in self.memory.give_up():
            thin.put(1, line)
        return self.rest()

    def rest(self) -> int | None:
        """Wait without a server until the program sends a request; then connect or answer with an error."""
        while not self.memory.waiting.keys() - {_request_key(_decode_message(line)) for line in self.memory.hello}:
            if not self.listen(None):
                return 0
        try:
            self.connect(waits=True)
        except thin.Ended:
            for line in self.memory.give_up():
                thin.put(1, line)
        return None

    def listen_until(self, at: float) -> bool:
        """Read the program's lines until a time; return whether the program is still there."""
        while self.is_open and (left := at - time.monotonic()) > 0:
            self.listen(left)
        return self.is_open

    def listen(self, seconds: float | None) -> bool:
        """Read the program's next lines, if they come in time; return whether the program is still there."""
        if select.select([0], [], [], seconds)[0]:
            self.take_input(keep=True)
        return self.is_open

    def talk(self) -> int | None:
        """Relay in both directions until the program or the server goes away; return the exit code at the end."""
        if self.sock is None:
            raise Lost
        server = self.sock.fileno()
        while True:
            poll = select.poll()
            poll.register(server, select.POLLIN | (select.POLLOUT if self.outbox else 0))
            if self.is_open and len(self.outbox) + len(self.unasked) < _OUTBOX_BYTES_MAX:
                poll.register(0, select.POLLIN)
            left = max(0, int((self.ends_at - time.monotonic()) * 1000)) if not self.is_open else None
            ready = dict(poll.poll(left))
            if not ready:
                return 0  # the program has gone, and the server sends no more
            if 0 in ready:
                self.take_input()
            if ready.get(server, 0) & select.POLLOUT:
                self.flush()
            if ready.get(server, 0) & ~select.POLLOUT:
                code = self.take_output()
                if code is not None:
                    return code

    def take_input(self, *, keep: bool = False) -> None:
        """Read the program's input and pass it on. `keep`: only record the input, while no server answers."""
        data = os.read(0, thin.CHUNK_BYTES)
        if not data:
            self.is_open = False
            self.ends_at = time.monotonic() + _END_SECONDS_MAX
            if not keep:
                self.close_input()
            return
        *lines, self.typed = (self.typed + data).split(b"\n")
        for line in lines:
            self.memory.sent(line + b"\n")
            if not keep:
                self.pass_on(line + b"\n")

    def pass_on(self, line: bytes) -> None:
        buffer = self.outbox if self.is_asked else self.unasked
        for at in range(0, len(line), thin.CHUNK_BYTES):
            buffer += thin.frame(b"D", line[at : at + thin.CHUNK_BYTES])

    def close_input(self) -> None:
        buffer = self.outbox if self.is_asked else self.unasked
        buffer += thin.frame(b"D", b"")

    def flush(self) -> None:
        assert self.sock is not None
        try:
            del self.outbox[: self.sock.send(self.outbox)]
        except BlockingIOError:
            return
        except OSError:
            raise Lost from None

    def take_output(self) -> int | None:
        """Read the server's frames; return the exit code after the last frame."""
        assert self.sock is not None
        try:
            data = self.sock.recv(thin.CHUNK_BYTES)
        except BlockingIOError:
            return None
        except OSError:
            data = b""
        if not data:
            raise Lost
        self.inbox += data
        while len(self.inbox) >= 5 and len(self.inbox) >= 5 + (size := int.from_bytes(self.inbox[1:5], "big")):
            kind, payload = self.inbox[:1], self.inbox[5 : 5 + size]
            self.inbox = self.inbox[5 + size :]
            if kind == b"X":
                return int(payload)
            self.obey(kind, payload)
        return None

    def obey(self, kind: bytes, payload: bytes) -> None:
        if kind == b"O":
            *lines, self.said = (self.said + payload).split(b"\n")
            for line in lines:
                if self.memory.is_news(line):
                    thin.put(1, line + b"\n")
        elif kind == b"E":
            thin.put(2, payload)
        elif kind == b"I":
            self.is_asked = True
            self.pause = _PAUSE_SECONDS
            self.outbox += self.unasked
            self.unasked.clear()
        elif kind == b"C":
            self.outbox += thin.frame(b"C", b"")


def _decode_message(line: bytes) -> dict[str, Any]:
    try:
        message = json.loads(line)
    except ValueError:
        return {}
    return message if isinstance(message, dict) else {}


def _request_key(message: dict[str, Any]) -> str:
    request_id = message.get("id")
    return json.dumps(request_id) if isinstance(request_id, str | int) and not isinstance(request_id, bool) else ""
