"""`maestro mcp` against a server elsewhere (MAESTRO_SERVER_URL): passes lines between an agent and its /mcp.

Who is calling is said by MAESTRO_TOKEN alone: another machine knows nothing of processes here. A request that could
not be sent is sent again until there is a server; one that was cut off only if it does nothing but wait.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import select
import sys
import threading
import time
import urllib.parse
from typing import Any

from maestro.client import thin

_ACCEPT = "application/json, text/event-stream"
_MODERN = "io.modelcontextprotocol/protocolVersion"
_BACK_SECONDS_MAX = 30.0
_PAUSE_SECONDS_MAX = 1.0
_END_SECONDS_MAX = 2.0
_SECONDS_MAX = 24 * 3600 + 60.0  # as long as any wait
_IDLE_MAX = 4
_FAILED = -32000
_NAMES = {"tools/call": "name", "resources/read": "uri", "prompts/get": "name"}


def run() -> int:
    """Passes lines on until the agent closes its end."""
    url = thin.setting("MAESTRO_SERVER_URL")
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise thin.Ended(thin.USAGE, f"MAESTRO_SERVER_URL is not an address: {url!r}\nwrite http://host:port")
    if not thin.setting("MAESTRO_TOKEN"):
        raise thin.Ended(thin.USAGE, "set MAESTRO_TOKEN: a server elsewhere cannot know whose process this is")
    bridge = Bridge(parts, thin.setting("MAESTRO_TOKEN"))
    for line in sys.stdin.buffer:
        if line.strip():
            bridge.pass_on(line)
    bridge.end()
    return 0


class Refused(Exception):
    """The server answered, but not in the protocol."""


class Bridge:
    """One agent's way to a server elsewhere."""

    def __init__(self, parts: urllib.parse.SplitResult, token: str) -> None:
        self._parts = parts
        self._headers = {"Authorization": f"Bearer {token}", "Accept": _ACCEPT, "Content-Type": "application/json"}
        told = thin.setting("MAESTRO_MCP_WAIT_SECONDS")
        if told:
            self._headers["Maestro-Mcp-Wait-Seconds"] = told
        self._session: dict[str, str] = {}
        self._idle: list[http.client.HTTPConnection] = []
        self._writing = threading.Lock()
        self._open: list[threading.Thread] = []
        self._is_over = False

    def pass_on(self, line: bytes) -> None:
        """One message of the agent. A handshake is finished before anything else is said."""
        try:
            message = json.loads(line)
        except ValueError:
            message = {}
        message = message if isinstance(message, dict) else {}
        if message.get("method") in ("initialize", "notifications/initialized"):
            self._exchange(line, message)
            if message["method"] == "notifications/initialized":
                threading.Thread(target=self._listen, daemon=True).start()
            return
        thread = threading.Thread(target=self._exchange, args=(line, message), daemon=True)
        self._open = [one for one in self._open if one.is_alive()] + [thread]
        thread.start()

    def end(self) -> None:
        """The agent has gone: what is nearly done may end, and the session of the protocol does."""
        until = time.monotonic() + _END_SECONDS_MAX
        for thread in self._open:
            thread.join(max(0.0, until - time.monotonic()))
        self._is_over = True
        if self._session:
            with contextlib.suppress(OSError, http.client.HTTPException):  # it ends by itself, too
                self._send(self._connection(_END_SECONDS_MAX), "DELETE", b"", {}).read()

    def _exchange(self, line: bytes, message: dict[str, Any]) -> None:
        """One message and its answers. Whatever goes wrong is one too."""
        until = time.monotonic() + _BACK_SECONDS_MAX
        pause = 0.05
        while True:
            sent: list[bool] = []
            try:
                self._ask(line, message, sent)
            except Refused as problem:
                self._fail(message, str(problem))
            except (OSError, http.client.HTTPException) as problem:
                if time.monotonic() < until and (not sent or _only_waits(message)):
                    time.sleep(pause)
                    pause = min(pause * 2, _PAUSE_SECONDS_MAX)
                    continue
                lost = "was cut off: nobody knows how far it came" if sent else f"did not get there ({problem})"
                self._fail(message, f"No Maestro server answers at {self._parts.geturl()}. This {lost}. Try again.")
            return

    def _ask(self, line: bytes, message: dict[str, Any], sent: list[bool]) -> None:
        connection = self._taken()
        sent.append(True)
        try:
            answer = self._send(connection, "POST", line, _modern_headers(message))
            self._take(answer, message)
        except BaseException:
            connection.close()
            raise
        if answer.isclosed() and not answer.will_close and len(self._idle) < _IDLE_MAX:
            self._idle.append(connection)
        else:
            connection.close()

    def _taken(self) -> http.client.HTTPConnection:
        """A connection that is open, so that whatever fails from then on may have been sent. The same one again, if
        it can be: who calls again over a connection has read what came over it."""
        while self._idle:
            connection = self._idle.pop()
            if _is_alive(connection):
                return connection
            connection.close()
        connection = self._connection(_SECONDS_MAX)
        connection.connect()
        return connection

    def _connection(self, seconds: float) -> http.client.HTTPConnection:
        kind = http.client.HTTPSConnection if self._parts.scheme == "https" else http.client.HTTPConnection
        return kind(str(self._parts.hostname), self._parts.port, timeout=seconds)

    def _send(
        self, connection: http.client.HTTPConnection, verb: str, body: bytes, extra: dict[str, str]
    ) -> http.client.HTTPResponse:
        path = self._parts.path.rstrip("/") + "/mcp"
        connection.request(verb, path, body or None, {**self._headers, **self._session, **extra})
        return connection.getresponse()

    def _take(self, answer: http.client.HTTPResponse, message: dict[str, Any]) -> None:
        if "event-stream" in answer.headers.get("content-type", ""):
            for line in answer:
                if line.startswith(b"data:"):
                    self._put(line[5:].strip())
            return
        body = answer.read().strip()
        if message.get("method") == "initialize" and answer.status == http.client.OK:
            self._shaken(answer, body)
        if not body:
            return
        try:
            said = json.loads(body)
        except ValueError:
            raise Refused(f"The server answered with status {answer.status}.") from None
        if isinstance(said, dict) and "jsonrpc" not in said:
            raise Refused("\n".join(filter(None, (str(said.get("message")), str(said.get("hint") or "")))))
        self._put(body)

    def _shaken(self, answer: http.client.HTTPResponse, body: bytes) -> None:
        """The session that a handshake began."""
        session = answer.headers.get("mcp-session-id")
        version = json.loads(body).get("result", {}).get("protocolVersion")
        if session and version:
            self._session = {"Mcp-Session-Id": session, "MCP-Protocol-Version": version}

    def _listen(self) -> None:
        """What the server tells by itself, as long as it goes on."""
        while not self._is_over:
            try:
                answer = self._send(self._connection(_SECONDS_MAX), "GET", b"", {})
                if answer.status in (http.client.METHOD_NOT_ALLOWED, http.client.NOT_FOUND):
                    return
                if answer.status == http.client.OK:
                    self._take(answer, {})
            except (OSError, http.client.HTTPException, Refused):
                pass  # it comes back, or the agent goes
            time.sleep(_PAUSE_SECONDS_MAX)

    def _put(self, data: bytes) -> None:
        if data:
            with self._writing:
                thin.put(1, data.replace(b"\n", b" ") + b"\n")

    def _fail(self, message: dict[str, Any], said: str) -> None:
        if "id" in message and "method" in message:
            error = {"code": _FAILED, "message": said}
            self._put(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}).encode())


def _is_alive(connection: http.client.HTTPConnection) -> bool:
    """Whether the other side has not closed it: there is nothing to read, not even the end."""
    if connection.sock is None:
        return False
    readable, _, _ = select.select([connection.sock], [], [], 0)
    return not readable


def _only_waits(message: dict[str, Any]) -> bool:
    params = message.get("params")
    return message.get("method") == "tools/call" and isinstance(params, dict) and params.get("name") == "wait"


def _modern_headers(message: dict[str, Any]) -> dict[str, str]:
    """Since 2026-07-28 the headers say what the body does."""
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    if not isinstance(params, dict) or not isinstance(meta, dict) or _MODERN not in meta:
        return {}
    found = {"MCP-Protocol-Version": str(meta[_MODERN]), "Mcp-Method": str(message.get("method"))}
    named = params.get(_NAMES.get(str(message.get("method")), ""))
    return found | {"Mcp-Name": named} if isinstance(named, str) else found
