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

from maestro.client import local_commands, main
from maestro.wire import exit_codes, frames

RELAY_COMMAND = "__mcp"  # the command with which the relay introduces itself to the server
_RECONNECT_SECONDS_MAX = 30.0
_PAUSE_SECONDS = 0.05
_PAUSE_SECONDS_MAX = 1.0
_END_SECONDS_MAX = 10.0  # for the answers that a program still reads after it has closed its end
_OUTBOX_BYTES_MAX = 1 << 20
_NO_SERVER = -32000
_MODES = ("execute", "coordinate", "plan")


def run_relay(arguments: list[str]) -> int:
    """Relay lines until the program closes its end."""
    parser = argparse.ArgumentParser(
        prog="maestro mcp",
        description="Serve MCP on standard input and output to the program that starts this command.",
    )
    parser.add_argument("--mode", choices=_MODES, help="the mode of an agent that was started by hand")
    parser.add_argument("--name", metavar="NAME", help="the name of an agent that was started by hand")
    chosen = parser.parse_args(arguments)
    if os.isatty(0):
        raise main.CommandEnded(
            exit_codes.USAGE, "`maestro mcp` serves programs: add it to the MCP servers of a program (docs/mcp.md)"
        )
    if not main.read_variable("MAESTRO_SOCKET") and main.read_variable("MAESTRO_SERVER_URL"):
        from maestro.client import mcp_bridge

        return mcp_bridge.run_bridge()
    for name, value in (("MODE", chosen.mode), ("NAME", chosen.name), ("NONCE", os.urandom(12).hex())):
        if value:
            os.environ[f"MAESTRO_MCP_{name}"] = value
    return McpRelay().relay_until_end()


class ServerLost(Exception):
    """The connection to the server has ended."""


class RelayState:
    """The lines that the relay must repeat to a new server."""

    def __init__(self) -> None:
        self.handshake: list[bytes] = []  # the lines `initialize` and `notifications/initialized`
        self.subscriptions: dict[str, bytes] = {}  # subscriptions by URI
        self.open_requests: dict[str, bytes] = {}  # open requests by id; the id is JSON
        self.answered_before: set[str] = set()  # ids of repeated requests whose answers the program already has

    def record_sent(self, line: bytes) -> None:
        """Record a line that the program sends."""
        message = _decode_message(line)
        method, params = message.get("method"), message.get("params")
        key = _request_key(message)
        if method == "initialize":
            self.handshake = [line]
        elif method == "notifications/initialized":
            self.handshake = [*self.handshake[:1], line]
        elif method == "notifications/cancelled" and isinstance(params, dict):
            self.open_requests.pop(json.dumps(params.get("requestId")), None)
        elif method == "resources/subscribe" and isinstance(params, dict):
            self.subscriptions[str(params.get("uri"))] = line
        elif method == "resources/unsubscribe" and isinstance(params, dict):
            self.subscriptions.pop(str(params.get("uri")), None)
        if method and key:
            self.open_requests[key] = line

    def record_received(self, line: bytes) -> bool:
        """Record a line that the server sends; return whether the program must get the line."""
        message = _decode_message(line)
        if "method" in message:
            return True
        key = _request_key(message)
        self.open_requests.pop(key, None)
        if key in self.answered_before:
            self.answered_before.discard(key)
            return False
        return True

    def lines_to_repeat(self) -> tuple[list[str], list[bytes]]:
        """Return the ids of the open requests, and all lines to repeat to a new server."""
        known_lines = self.handshake + list(self.subscriptions.values())
        self.answered_before = {
            key
            for line in known_lines
            if (key := _request_key(_decode_message(line))) and key not in self.open_requests
        }
        open_requests = {key: line for key, line in self.open_requests.items() if line not in known_lines}
        return list(open_requests), known_lines + list(open_requests.values())

    def fail_open_requests(self) -> list[bytes]:
        """Drop the open requests, and return an error for each of them: no server answers."""
        message = "No Maestro server answers. Try again later; the person starts a server with: maestro up"
        error = {"code": _NO_SERVER, "message": message}
        keys = [key for key, line in self.open_requests.items() if line not in self.handshake]
        for key in keys:
            del self.open_requests[key]
        return [
            json.dumps({"jsonrpc": "2.0", "id": json.loads(key), "error": error}).encode() + b"\n" for key in keys
        ]


class McpRelay:
    """The relay between the pipes of one program and the server."""

    def __init__(self) -> None:
        self.state = RelayState()
        self.sock: _socket.socket | None = None
        self.is_open = True  # whether the program has not closed its end
        self.ends_at = 0.0
        self.partial_input = b""  # an unfinished line of the program
        self.inbox = frames.FrameBuffer()
        self.partial_output = b""  # an unfinished line of the server
        self.outbox = bytearray()
        self.early_input = bytearray()  # input frames, until the server asks for input
        self.is_input_wanted = False
        self.pause = _PAUSE_SECONDS

    def relay_until_end(self) -> int:
        self.connect_to_server(may_wait=True)
        while True:
            try:
                code = self.relay_lines()
            except ServerLost:
                code = self.reconnect()
            if code is not None:
                return code

    def connect_to_server(self, *, may_wait: bool = False) -> None:
        """Connect, and repeat the known lines to the server. `may_wait`: wait for a server that is restarting."""
        path = main.socket_path()
        try:
            self.sock = main.connect_to_server(path)
        except OSError as error:
            if not may_wait:
                raise
            self.sock = local_commands.wait_for_server(path, error)
        resent, lines = self.state.lines_to_repeat()
        os.environ["MAESTRO_MCP_RESENT"] = f"[{','.join(resent)}]"
        self.sock.setblocking(False)
        self.inbox, self.partial_output = frames.FrameBuffer(), b""
        self.outbox = bytearray(frames.pack_frame(frames.REQUEST, main.request_payload([RELAY_COMMAND])))
        self.early_input.clear()
        self.is_input_wanted = False
        for line in lines:
            self.send_line(line)
        if not self.is_open:
            self.send_end_of_input()

    def reconnect(self) -> int | None:
        """Wait for the next server; return the exit code if the program goes away meanwhile."""
        if self.sock is not None:
            self.sock.close()
            self.sock = None
        if not self.is_open:
            return 0
        until = time.monotonic() + _RECONNECT_SECONDS_MAX
        while time.monotonic() < until:
            # The program may close its end while no server answers.
            if not self.read_input_until(time.monotonic() + self.pause):
                return 0
            self.pause = min(self.pause * 2, _PAUSE_SECONDS_MAX)
            try:
                self.connect_to_server()
            except OSError:
                continue
            return None
        for line in self.state.fail_open_requests():
            main.write_all(1, line)
        return self.wait_for_request()

    def wait_for_request(self) -> int | None:
        """Wait without a server until the program sends a request; then connect or answer with an error."""
        while not self.state.open_requests.keys() - {
            _request_key(_decode_message(line)) for line in self.state.handshake
        }:
            if not self.read_next_input(None):
                return 0
        try:
            self.connect_to_server(may_wait=True)
        except main.CommandEnded:
            for line in self.state.fail_open_requests():
                main.write_all(1, line)
        return None

    def read_input_until(self, at: float) -> bool:
        """Read the program's lines until a time; return whether the program is still there."""
        while self.is_open and (left := at - time.monotonic()) > 0:
            self.read_next_input(left)
        return self.is_open

    def read_next_input(self, seconds: float | None) -> bool:
        """Read the program's next lines, if they come in time; return whether the program is still there."""
        if select.select([0], [], [], seconds)[0]:
            self.read_input(only_records=True)
        return self.is_open

    def relay_lines(self) -> int | None:
        """Relay in both directions until the program or the server goes away; return the exit code at the end."""
        if self.sock is None:
            raise ServerLost
        server = self.sock.fileno()
        while True:
            poll = select.poll()
            poll.register(server, select.POLLIN | (select.POLLOUT if self.outbox else 0))
            if self.is_open and len(self.outbox) + len(self.early_input) < _OUTBOX_BYTES_MAX:
                poll.register(0, select.POLLIN)
            left = max(0, int((self.ends_at - time.monotonic()) * 1000)) if not self.is_open else None
            ready = dict(poll.poll(left))
            if not ready:
                return 0  # the program has gone, and the server sends no more
            if 0 in ready:
                self.read_input()
            if ready.get(server, 0) & select.POLLOUT:
                self.flush_outbox()
            if ready.get(server, 0) & ~select.POLLOUT:
                code = self.read_output()
                if code is not None:
                    return code

    def read_input(self, *, only_records: bool = False) -> None:
        """Read the program's input and pass it on. `only_records`: only record the input, while no server answers."""
        data = os.read(0, main.CHUNK_BYTES)
        if not data:
            self.is_open = False
            self.ends_at = time.monotonic() + _END_SECONDS_MAX
            if not only_records:
                self.send_end_of_input()
            return
        *lines, self.partial_input = (self.partial_input + data).split(b"\n")
        for line in lines:
            self.state.record_sent(line + b"\n")
            if not only_records:
                self.send_line(line + b"\n")

    def send_line(self, line: bytes) -> None:
        buffer = self.outbox if self.is_input_wanted else self.early_input
        for at in range(0, len(line), main.CHUNK_BYTES):
            buffer += frames.pack_frame(frames.DATA, line[at : at + main.CHUNK_BYTES])

    def send_end_of_input(self) -> None:
        buffer = self.outbox if self.is_input_wanted else self.early_input
        buffer += frames.pack_frame(frames.DATA, b"")

    def flush_outbox(self) -> None:
        assert self.sock is not None
        try:
            del self.outbox[: self.sock.send(self.outbox)]
        except BlockingIOError:
            return
        except OSError:
            raise ServerLost from None

    def read_output(self) -> int | None:
        """Read the server's frames; return the exit code after the last frame."""
        assert self.sock is not None
        try:
            data = self.sock.recv(main.CHUNK_BYTES)
        except BlockingIOError:
            return None
        except OSError:
            data = b""
        if not data:
            raise ServerLost
        self.inbox.add_bytes(data)
        while (frame := self.inbox.take_frame()) is not None:
            kind, payload = frame
            if kind == frames.EXIT:
                return int(payload)
            self.handle_frame(kind, payload)
        return None

    def handle_frame(self, kind: bytes, payload: bytes) -> None:
        if kind == frames.OUT:
            *lines, self.partial_output = (self.partial_output + payload).split(b"\n")
            for line in lines:
                if self.state.record_received(line):
                    main.write_all(1, line + b"\n")
        elif kind == frames.ERR:
            main.write_all(2, payload)
        elif kind == frames.STDIN:
            self.is_input_wanted = True
            self.pause = _PAUSE_SECONDS
            self.outbox += self.early_input
            self.early_input.clear()
        elif kind == frames.CONFIRM:
            self.outbox += frames.pack_frame(frames.CONFIRMED)


def _decode_message(line: bytes) -> dict[str, Any]:
    try:
        message = json.loads(line)
    except ValueError:
        return {}
    return message if isinstance(message, dict) else {}


def _request_key(message: dict[str, Any]) -> str:
    request_id = message.get("id")
    return json.dumps(request_id) if isinstance(request_id, str | int) and not isinstance(request_id, bool) else ""
