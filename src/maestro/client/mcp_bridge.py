"""`maestro mcp` against a server on another machine (MAESTRO_SERVER_URL): pass lines between a program and /mcp.

Only MAESTRO_TOKEN names the caller: a server on another machine cannot inspect local processes. The bridge repeats
a request that could not be sent until a server answers. A request that was cut off is repeated only if it only waits.
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

from maestro.client import main
from maestro.wire import exit_codes

_ACCEPT = "application/json, text/event-stream"
_VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
_RECONNECT_SECONDS_MAX = 30.0
_PAUSE_SECONDS_MAX = 1.0
_END_SECONDS_MAX = 10.0  # for the answers that a program still reads after it has closed its end
_SECONDS_MAX = 24 * 3600 + 60.0  # longer than every wait
_IDLE_MAX = 4
_FAILED = -32000
_NAME_FIELDS = {"tools/call": "name", "resources/read": "uri", "prompts/get": "name"}


def run_bridge() -> int:
    """Pass lines on until the program closes its end."""
    url = main.read_variable("MAESTRO_SERVER_URL")
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise main.CommandEnded(
            exit_codes.USAGE, f"MAESTRO_SERVER_URL is not a server's address: {url!r}\nuse http://host:port"
        )
    if not main.read_variable("MAESTRO_TOKEN"):
        raise main.CommandEnded(
            exit_codes.USAGE, "set MAESTRO_TOKEN: a server on another machine knows a session by its token"
        )
    bridge = Bridge(parts, main.read_variable("MAESTRO_TOKEN"))
    for line in sys.stdin.buffer:
        if line.strip():
            bridge.send_message(line)
    bridge.end_session()
    return 0


class McpRefused(Exception):
    """The server answered with an error outside the MCP protocol."""


class Bridge:
    """The connection of one program to a server on another machine."""

    def __init__(self, parts: urllib.parse.SplitResult, token: str) -> None:
        self._parts = parts
        self._headers = {"Authorization": f"Bearer {token}", "Accept": _ACCEPT, "Content-Type": "application/json"}
        wait_seconds = main.read_variable("MAESTRO_MCP_WAIT_SECONDS")
        if wait_seconds:
            self._headers["Maestro-Mcp-Wait-Seconds"] = wait_seconds
        self._session: dict[str, str] = {}
        self._idle: list[http.client.HTTPConnection] = []
        self._writing = threading.Lock()
        self._open: list[threading.Thread] = []
        self._is_over = False

    def send_message(self, line: bytes) -> None:
        """Send one message of the program. The handshake is finished before any other message is sent."""
        try:
            message = json.loads(line)
        except ValueError:
            message = {}
        message = message if isinstance(message, dict) else {}
        if message.get("method") in ("initialize", "notifications/initialized"):
            self._exchange_message(line, message)
            if message["method"] == "notifications/initialized":
                threading.Thread(target=self._relay_notifications, daemon=True).start()
            return
        thread = threading.Thread(target=self._exchange_message, args=(line, message), daemon=True)
        if not _only_waits(message):
            self._open = [running for running in self._open if running.is_alive()] + [thread]
        thread.start()

    def end_session(self) -> None:
        """Wait for the answers to open requests, then end the MCP session. The program sends no more.

        Requests that only wait are not awaited: they may last for hours.
        """
        until = time.monotonic() + _END_SECONDS_MAX
        for thread in self._open:
            thread.join(max(0.0, until - time.monotonic()))
        self._is_over = True
        if self._session:
            with contextlib.suppress(OSError, http.client.HTTPException):  # the MCP session also ends by itself
                self._send_request(self._new_connection(_END_SECONDS_MAX), "DELETE", b"", {}).read()

    def _exchange_message(self, line: bytes, message: dict[str, Any]) -> None:
        """Send one message and write its answers. A failure becomes an error answer."""
        until = time.monotonic() + _RECONNECT_SECONDS_MAX
        pause = 0.05
        while True:
            sent: list[bool] = []
            try:
                self._post(line, message, sent)
            except McpRefused as problem:
                self._write_error(message, str(problem))
            except (OSError, http.client.HTTPException) as problem:
                if time.monotonic() < until and (not sent or _only_waits(message)):
                    time.sleep(pause)
                    pause = min(pause * 2, _PAUSE_SECONDS_MAX)
                    continue
                outcome = f"was not sent ({problem}): try again"
                if sent:
                    outcome = "was cut off and may have been carried out: check before you try again"
                text = f"No Maestro server answers at {self._parts.geturl()}. The request {outcome}."
                self._write_error(message, text)
            return

    def _post(self, line: bytes, message: dict[str, Any], sent: list[bool]) -> None:
        connection = self._open_connection()
        sent.append(True)
        try:
            answer = self._send_request(connection, "POST", line, _modern_headers(message))
            result = self._read_result(answer, message)
        except BaseException:
            connection.close()
            raise
        # The connection becomes idle before the program has the result, so that the program's next call uses it.
        if answer.isclosed() and not answer.will_close and len(self._idle) < _IDLE_MAX:
            self._idle.append(connection)
        else:
            connection.close()
        self._write_line(result)

    def _open_connection(self) -> http.client.HTTPConnection:
        """Return an open connection: a request that fails after this point may have been sent.

        Reuse an idle connection if possible: a further call over the same connection shows the server that the
        program has read the last answer.
        """
        while self._idle:
            connection = self._idle.pop()
            if _is_alive(connection):
                return connection
            connection.close()
        connection = self._new_connection(_SECONDS_MAX)
        connection.connect()
        return connection

    def _new_connection(self, seconds: float) -> http.client.HTTPConnection:
        kind = http.client.HTTPSConnection if self._parts.scheme == "https" else http.client.HTTPConnection
        return kind(str(self._parts.hostname), self._parts.port, timeout=seconds)

    def _send_request(
        self, connection: http.client.HTTPConnection, verb: str, body: bytes, extra: dict[str, str]
    ) -> http.client.HTTPResponse:
        path = self._parts.path.rstrip("/") + "/mcp"
        connection.request(verb, path, body or None, {**self._headers, **self._session, **extra})
        return connection.getresponse()

    def _read_result(self, answer: http.client.HTTPResponse, message: dict[str, Any]) -> bytes:
        """Read the server's answer to its end and return the result. Write the notifications before it."""
        if "event-stream" in answer.headers.get("content-type", ""):
            return self._read_stream(answer, message)
        body = answer.read().strip()
        if message.get("method") == "initialize" and answer.status == http.client.OK:
            self._store_session(answer, body)
        if not body:
            return b""
        try:
            content = json.loads(body)
        except ValueError:
            raise McpRefused(f"The server answered with status {answer.status}.") from None
        if isinstance(content, dict) and "jsonrpc" not in content:
            raise McpRefused("\n".join(filter(None, (str(content.get("message")), str(content.get("hint") or "")))))
        return body

    def _read_stream(self, answer: http.client.HTTPResponse, message: dict[str, Any]) -> bytes:
        """Write the notifications of a stream as they come. Return the result of the message, if the message has one.

        A stream that ends without the result was cut off: some versions of `http.client` take the end for regular.
        """
        result = b""
        for line in answer:
            if line.startswith(b"data:"):
                data = line[5:].strip()
                if _is_result(data, message):
                    result = data
                else:
                    self._write_line(data)
        if not result and "id" in message and "method" in message:
            raise http.client.IncompleteRead(b"")
        return result

    def _store_session(self, answer: http.client.HTTPResponse, body: bytes) -> None:
        """Store the MCP session that a handshake began."""
        session = answer.headers.get("mcp-session-id")
        version = json.loads(body).get("result", {}).get("protocolVersion")
        if session and version:
            self._session = {"Mcp-Session-Id": session, "MCP-Protocol-Version": version}

    def _relay_notifications(self) -> None:
        """Write the notifications that the server sends by itself, until the program goes away."""
        while not self._is_over:
            try:
                answer = self._send_request(self._new_connection(_SECONDS_MAX), "GET", b"", {})
                if answer.status in (http.client.METHOD_NOT_ALLOWED, http.client.NOT_FOUND):
                    return
                if answer.status == http.client.OK:
                    self._read_stream(answer, {})
            except (OSError, http.client.HTTPException, McpRefused):
                pass  # a server comes back, or the program goes away
            time.sleep(_PAUSE_SECONDS_MAX)

    def _write_line(self, data: bytes) -> None:
        if data:
            with self._writing:
                main.write_all(1, data.replace(b"\n", b" ") + b"\n")

    def _write_error(self, message: dict[str, Any], text: str) -> None:
        if "id" in message and "method" in message:
            error = {"code": _FAILED, "message": text}
            self._write_line(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}).encode())


def _is_result(data: bytes, message: dict[str, Any]) -> bool:
    """Return whether a line of a stream is the result of the message."""
    try:
        content = json.loads(data)
    except ValueError:
        return False
    return (
        isinstance(content, dict)
        and "id" in message
        and content.get("id") == message["id"]
        and "method" not in content
    )


def _is_alive(connection: http.client.HTTPConnection) -> bool:
    """Return whether the server has not closed the connection: no bytes are readable, not even the end."""
    if connection.sock is None:
        return False
    readable, _, _ = select.select([connection.sock], [], [], 0)
    return not readable


def _only_waits(message: dict[str, Any]) -> bool:
    params = message.get("params")
    return message.get("method") == "tools/call" and isinstance(params, dict) and params.get("name") == "wait"


def _modern_headers(message: dict[str, Any]) -> dict[str, str]:
    """Return the headers that repeat the body's method and name, which the protocol needs since 2026-07-28."""
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    if not isinstance(params, dict) or not isinstance(meta, dict) or _VERSION_KEY not in meta:
        return {}
    headers = {"MCP-Protocol-Version": str(meta[_VERSION_KEY]), "Mcp-Method": str(message.get("method"))}
    name = params.get(_NAME_FIELDS.get(str(message.get("method")), ""))
    return headers | {"Mcp-Name": name} if isinstance(name, str) else headers
