"""Tool calls over MCP compared with the same calls over REST, with 16 clients that are sessions."""

from __future__ import annotations

import http.client
import json
import statistics
from typing import Any

from bench.http import ROUNDS, SECONDS, post, rate_of, request, running_server, start_load
from bench.report import Figure

_CLIENTS = 16
_HANDSHAKE = "2025-11-25"
_MODERN = "2026-07-28"
_ACCEPT = "application/json, text/event-stream"
_BAR = 0.4


def figures() -> list[Figure]:
    """Measure a read and a write, in the protocol with a handshake and in the protocol without a handshake."""
    with running_server() as server:
        tokens = [_register(server, number) for number in range(_CLIENTS)]
        task = post(server, "/api/tasks", {"title": "A task", "project": server["project"]})
        sessions = [_hello(server, token) for token in tokens]
        read = {"name": "tasks", "arguments": {"action": "show", "id": task["id"]}}
        write = {"name": "task_create", "arguments": {"title": "A task"}}
        rest = {
            "read": [_get(f"/api/tasks/{task['id']}", token) for token in tokens],
            "write": [request(server, "/api/tasks", {"title": "A task"}, token=token) for token in tokens],
        }
        ours = {
            ("read", _HANDSHAKE): [_call(read, *pair) for pair in zip(tokens, sessions, strict=True)],
            ("read", _MODERN): [_modern(read, token) for token in tokens],
            ("write", _HANDSHAKE): [_call(write, *pair) for pair in zip(tokens, sessions, strict=True)],
            ("write", _MODERN): [_modern(write, token) for token in tokens],
        }
        return [_against(server, what, version, calls, rest[what]) for (what, version), calls in ours.items()]


def _against(server: dict[str, Any], what: str, version: str, calls: list[str], rest: list[str]) -> Figure:
    theirs, ours = [], []
    for _ in range(ROUNDS):
        theirs.append(rate_of(start_load(server, rest, SECONDS, connections=_CLIENTS)))
        ours.append(rate_of(start_load(server, calls, SECONDS, connections=_CLIENTS)))
    ratio = statistics.median(one / other for one, other in zip(ours, theirs, strict=True))
    note = f"{statistics.median(ours):,.0f}/s over MCP, {statistics.median(theirs):,.0f}/s over REST"
    return Figure(f"a tool call that {what}s, {version}, against REST, 16 clients", ratio, at_least=_BAR, note=note)


def _register(server: dict[str, Any], number: int) -> str:
    asked = {"name": f"client-{number}", "project": server["project"]}
    token: str = post(server, "/api/sessions", asked)["token"]
    return token


def _hello(server: dict[str, Any], token: str) -> str:
    """Open a session of the MCP protocol, and return its id."""
    params = {"protocolVersion": _HANDSHAKE, "capabilities": {}, "clientInfo": {"name": "bench", "version": "0"}}
    connection = http.client.HTTPConnection("127.0.0.1", server["port"])
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", "Accept": _ACCEPT}
    hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
    connection.request("POST", "/mcp", json.dumps(hello), headers)
    answer = connection.getresponse()
    answer.read()
    session = answer.headers["mcp-session-id"]
    done = json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"})
    connection.request("POST", "/mcp", done, headers | {"Mcp-Session-Id": session})
    connection.getresponse().read()
    connection.close()
    return session


def _get(path: str, token: str) -> str:
    return f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n\r\n"


def _call(params: dict[str, Any], token: str, session: str) -> str:
    named = f"Mcp-Session-Id: {session}\r\nMCP-Protocol-Version: {_HANDSHAKE}\r\n"
    return _post(params | {"_meta": {"progressToken": 1}}, token, named)


def _modern(params: dict[str, Any], token: str) -> str:
    meta = {
        "io.modelcontextprotocol/protocolVersion": _MODERN,
        "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "0"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    named = f"MCP-Protocol-Version: {_MODERN}\r\nMcp-Method: tools/call\r\nMcp-Name: {params['name']}\r\n"
    return _post(params | {"_meta": meta}, token, named)


def _post(params: dict[str, Any], token: str, extra: str) -> str:
    text = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    return (
        f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\nAccept: {_ACCEPT}\r\n{extra}"
        f"Content-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n{text}"
    )
