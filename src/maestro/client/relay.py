"""`maestro mcp`: passes lines between an agent and the server, and outlives the server.

The MCP server itself is in Maestro's server, so that an agent's is a few megabytes and there at once. What is kept
here is what it takes to begin again with another server: how the agent introduced itself, what it watches, and what
it still waits for. That is sent once more under the same nonce, so that nothing is done twice (docs/mcp.md).
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

WORD = "__mcp"  # what this side calls itself to the server
_BACK_SECONDS_MAX = 30.0
_PAUSE_SECONDS = 0.05
_PAUSE_SECONDS_MAX = 1.0
_END_SECONDS_MAX = 2.0
_OUTBOX_BYTES_MAX = 1 << 20
_NO_SERVER = -32000
_MODES = ("execute", "coordinate", "plan")


def run(arguments: list[str]) -> int:
    """Relays until the agent closes its end."""
    parser = argparse.ArgumentParser(
        prog="maestro mcp",
        description="Be the MCP server of the agent that starts this, on standard input and output.",
    )
    parser.add_argument("--mode", choices=_MODES, help="what an agent that was started by hand is for")
    parser.add_argument("--name", metavar="NAME", help="what such an agent is called")
    chosen = parser.parse_args(arguments)
    if os.isatty(0):
        raise thin.Ended(thin.USAGE, "this is for agents: add `maestro mcp` to an agent's MCP servers (docs/mcp.md)")
    if not thin.setting("MAESTRO_SOCKET") and thin.setting("MAESTRO_SERVER_URL"):
        from maestro.client import bridge

        return bridge.run()
    for name, value in (("MODE", chosen.mode), ("NAME", chosen.name), ("NONCE", os.urandom(12).hex())):
        if value:
            os.environ[f"MAESTRO_MCP_{name}"] = value
    return Relay().run()


class Lost(Exception):
    """The server went away."""


class Memory:
    """What a new server must be told again."""

    def __init__(self) -> None:
        self.hello: list[bytes] = []  # initialize, and that it is done
        self.watched: dict[str, bytes] = {}
        self.waiting: dict[str, bytes] = {}  # by id, as JSON
        self.unheard: set[str] = set()  # whose answers the agent has had already

    def sent(self, line: bytes) -> None:
        """The agent sends a line."""
        message = _read(line)
        method, params = message.get("method"), message.get("params")
        key = _key(message)
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
        """The server sends a line; whether the agent is to have it."""
        message = _read(line)
        if "method" in message:
            return True
        key = _key(message)
        self.waiting.pop(key, None)
        if key in self.unheard:
            self.unheard.discard(key)
            return False
        return True

    def again(self) -> tuple[list[str], list[bytes]]:
        """For a new server: the ids of what was sent before, and all that is to be sent."""
        known = self.hello + list(self.watched.values())
        self.unheard = {key for line in known if (key := _key(_read(line))) and key not in self.waiting}
        open_ = {key: line for key, line in self.waiting.items() if line not in known}
        return list(open_), known + list(open_.values())

    def give_up(self) -> list[bytes]:
        """Answers to whatever waits: there is no server."""
        message = "No Maestro server answers. Try again later; the person starts one with: maestro up"
        said = {"code": _NO_SERVER, "message": message}
        keys = [key for key, line in self.waiting.items() if line not in self.hello]
        for key in keys:
            del self.waiting[key]
        return [json.dumps({"jsonrpc": "2.0", "id": json.loads(key), "error": said}).encode() + b"\n" for key in keys]


class Relay:
    """One agent's pipe."""

    def __init__(self) -> None:
        self.memory = Memory()
        self.sock: _socket.socket | None = None
        self.is_open = True  # whether the agent still has something to say
        self.ends_at = 0.0
        self.typed = b""  # an unfinished line of the agent
        self.inbox = b""
        self.said = b""  # an unfinished line of the server
        self.outbox = bytearray()
        self.unasked = bytearray()  # input that the server has not asked for yet
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
        """Connect, and tell this server all that it must know. `waits` for a server that is being started again."""
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
        """The server has gone: wait for the next one."""
        if self.sock is not None:
            self.sock.close()
            self.sock = None
        if not self.is_open:
            return 0
        until = time.monotonic() + _BACK_SECONDS_MAX
        while time.monotonic() < until:
            # While nobody answers the agent may give up.
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
        """No server: until the agent wants something of one."""
        while not self.memory.waiting.keys() - {_key(_read(line)) for line in self.memory.hello}:
            if not self.listen(None):
                return 0
        try:
            self.connect(waits=True)
        except thin.Ended:
            for line in self.memory.give_up():
                thin.put(1, line)
        return None

    def listen_until(self, at: float) -> bool:
        """Takes in what the agent says for a while; whether it is still there."""
        while self.is_open and (left := at - time.monotonic()) > 0:
            self.listen(left)
        return self.is_open

    def listen(self, seconds: float | None) -> bool:
        """Takes in what the agent says next, if it does in time; whether it is still there."""
        if select.select([0], [], [], seconds)[0]:
            self.take_input(keep=True)
        return self.is_open

    def talk(self) -> int | None:
        """Passes on what comes from either side, until one of them has gone; the exit code if that is the end."""
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
                return 0  # the agent has gone, and the server says nothing more
            if 0 in ready:
                self.take_input()
            if ready.get(server, 0) & select.POLLOUT:
                self.flush()
            if ready.get(server, 0) & ~select.POLLOUT:
                code = self.take_output()
                if code is not None:
                    return code

    def take_input(self, *, keep: bool = False) -> None:
        """What the agent says; `keep` it while there is no server."""
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
        to = self.outbox if self.is_asked else self.unasked
        for at in range(0, len(line), thin.CHUNK_BYTES):
            to += thin.frame(b"D", line[at : at + thin.CHUNK_BYTES])

    def close_input(self) -> None:
        to = self.outbox if self.is_asked else self.unasked
        to += thin.frame(b"D", b"")

    def flush(self) -> None:
        assert self.sock is not None
        try:
            del self.outbox[: self.sock.send(self.outbox)]
        except BlockingIOError:
            return
        except OSError:
            raise Lost from None

    def take_output(self) -> int | None:
        """What the server says; the exit code once it has said all."""
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


def _read(line: bytes) -> dict[str, Any]:
    try:
        message = json.loads(line)
    except ValueError:
        return {}
    return message if isinstance(message, dict) else {}


def _key(message: dict[str, Any]) -> str:
    found = message.get("id")
    return json.dumps(found) if isinstance(found, str | int) and not isinstance(found, bool) else ""
