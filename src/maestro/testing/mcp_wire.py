"""MCP over HTTP without the SDK: requests that the SDK's client would not send, and clients that can disconnect."""

from __future__ import annotations

import json
import socket
import time
from typing import Any

import httpx

from maestro.testing.live import LiveServer

_HANDSHAKE_SECONDS_MAX = 20
ACCEPT = "application/json, text/event-stream"
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "b", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


class McpWire:
    """Requests to /mcp with a session's token."""

    def __init__(self, live: LiveServer, token: str) -> None:
        self.live = live
        self.token = token
        self.http = httpx.Client(timeout=60)

    def post_message(
        self, body: Any, *, headers: dict[str, str] | None = None, raw: bytes | None = None
    ) -> httpx.Response:
        default_headers = {
            "Authorization": f"Bearer {self.token}",
            "Content-Type": "application/json",
            "Accept": ACCEPT,
        }
        content = raw if raw is not None else json.dumps(body).encode()
        return self.http.post(f"{self.live.url}/mcp", content=content, headers=default_headers | (headers or {}))

    def initialize_session(self, version: str = "2025-11-25", client: str = "b") -> dict[str, str]:
        """Initialize a session and return its headers."""
        params = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": client, "version": "1"}}
        answer = self.post_message({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
        assert answer.status_code == 200, answer.text
        headers = {"Mcp-Session-Id": answer.headers["mcp-session-id"]}
        if version >= "2025-06-18":
            headers["MCP-Protocol-Version"] = message_of(answer)["result"]["protocolVersion"]
        done = self.post_message({"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=headers)
        assert done.status_code == 202
        return headers

    def initialize_until_fast(self, version: str) -> dict[str, str]:
        """Return the headers of a session after its handshake, when the fast path answers its calls."""
        headers = self.initialize_session(version)
        deadline = time.monotonic() + _HANDSHAKE_SECONDS_MAX
        while not is_fast_answer(self.post_message(tool_call_message("whoami"), headers=headers)):
            assert time.monotonic() < deadline
        return headers

    def delete_session(self, headers: dict[str, str]) -> int:
        default_headers = {"Authorization": f"Bearer {self.token}"}
        return self.http.delete(f"{self.live.url}/mcp", headers=default_headers | headers).status_code

    def send_request_only(self, body: Any, headers: dict[str, str]) -> socket.socket:
        """Send a request and do not read the answer."""
        host, _, port = self.live.url.removeprefix("http://").partition(":")
        sock = socket.create_connection((host, int(port)))
        data = json.dumps(body).encode()
        default_headers = {
            "Host": f"{host}:{port}",
            "Authorization": f"Bearer {self.token}",
            "Content-Type": "application/json",
            "Accept": ACCEPT,
            "Content-Length": str(len(data)),
        }
        head = "".join(f"{name}: {value}\r\n" for name, value in (default_headers | headers).items())
        sock.sendall(f"POST /mcp HTTP/1.1\r\n{head}\r\n".encode() + data)
        return sock


def is_fast_answer(answer: httpx.Response) -> bool:
    """Return whether the fast path gave an answer: plain JSON. The SDK answers calls with streams of events."""
    return bool(answer.headers["content-type"] == "application/json")


def tool_call_message(
    name: str, arguments: dict[str, Any] | None = None, id: int | str = 1, **extra: Any
) -> dict[str, Any]:
    params = {"name": name, "arguments": arguments or {}} | extra
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}


def message_of(answer: httpx.Response) -> Any:
    """Return the last message of an answer, from JSON or from an event stream."""
    if "event-stream" in answer.headers.get("content-type", ""):
        return json.loads([line[6:] for line in answer.text.splitlines() if line.startswith("data: ")][-1])
    return answer.json()
