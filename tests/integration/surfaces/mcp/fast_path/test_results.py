"""The fast path over real HTTP gives the same answers as the SDK, and answers only usual requests."""

from __future__ import annotations

import json
import re
from typing import Any

import httpx

from maestro.testing.mcp_wire import META, McpWire, is_fast_answer, message_of, tool_call_message

MODERN = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call"}


HANDSHAKES = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("whoami", {}),
    ("task_create", {"title": 'Ümläut "quoted"'}),
    ("tasks", {"action": "show", "id": "vc#99"}),
    ("tasks", {}),
]


LISTS = ("tools/list", "resources/list", "resources/templates/list")


def hello(version: str) -> dict[str, Any]:
    info = {"name": "b", "version": "1", "title": "B"}
    capabilities = {"roots": {"listChanged": True}, "elicitation": {}, "experimental": {"x": {}}}
    params = {"protocolVersion": version, "capabilities": capabilities, "clientInfo": info}
    return {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}


def same(wire: McpWire, asked: dict[str, Any], headers: dict[str, str]) -> httpx.Response:
    fast, by_sdk = wire.post_message(asked, headers=headers), wire.post_message(asked | {"zz": 1}, headers=headers)
    assert fast.status_code == by_sdk.status_code == 200
    # At 2026-07-28 the SDK also answers in plain JSON if it sends no notifications.
    assert is_fast_answer(fast) and ("Mcp-Method" in headers or not is_fast_answer(by_sdk))
    one, other = json.dumps(message_of(fast)), json.dumps(message_of(by_sdk))
    number = re.compile(r"vc#\d+")
    assert json.loads(number.sub("vc#", one)) == json.loads(number.sub("vc#", other))
    return fast


def test_the_fast_path_and_the_sdk_give_equal_answers(wire: McpWire) -> None:
    for version in (*HANDSHAKES, "2026-07-28", "1999-01-01"):
        same(wire, hello(version), {})
    for version in HANDSHAKES:
        headers = wire.initialize_until_fast(version)
        for method in (*LISTS, "ping"):
            same(wire, {"jsonrpc": "2.0", "id": 3, "method": method}, headers)
        for tool, arguments in CALLS:
            short = same(wire, tool_call_message(tool, arguments, "a1", _meta={"progressToken": 3}), headers)
            assert short.headers["mcp-session-id"] == headers["Mcp-Session-Id"]
    for tool, arguments in CALLS:
        same(wire, tool_call_message(tool, arguments, 7, _meta=META), MODERN | {"Mcp-Name": tool})
    for method in (*LISTS, "server/discover"):
        listing = {"jsonrpc": "2.0", "id": 4, "method": method, "params": {"_meta": META}}
        same(wire, listing, MODERN | {"Mcp-Method": method})


def test_the_sdk_answers_an_unusual_handshake(wire: McpWire) -> None:
    good = hello("2025-06-18")
    for field, value in (("capabilities", {"roots": 5}), ("clientInfo", {"name": "b"}), ("protocolVersion", 7)):
        refused = message_of(wire.post_message(good | {"params": good["params"] | {field: value}}))
        assert refused["error"]["code"] == -32602, refused
    headers = {"Mcp-Session-Id": wire.post_message(good).headers["mcp-session-id"]}
    early = wire.post_message(
        {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, headers=headers
    )  # before the session is initialized
    assert not is_fast_answer(early)
    ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert wire.post_message(ready, headers=headers).status_code == 202
    assert "whoami" in wire.post_message({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}, headers=headers).text


def test_the_sdk_answers_an_unusual_request(wire: McpWire) -> None:
    headers, good = wire.initialize_until_fast("2025-06-18"), tool_call_message("whoami")
    odd: dict[str, tuple[Any, dict[str, str], int]] = {
        "a batch": ([good], {}, 400),
        "another version": (good, {"MCP-Protocol-Version": "1999-01-01"}, 400),
        "an old jsonrpc": (good | {"jsonrpc": "1.0"}, {}, 400),
        "plain text": (good, {"Content-Type": "text/plain"}, 400),
        "only JSON accepted": (good, {"Accept": "application/json"}, 406),
        "an unknown session": (good, {"Mcp-Session-Id": "abc"}, 404),
        "a forged session": (good, {"Mcp-Session-Id": headers["Mcp-Session-Id"][:-1] + "x"}, 404),
    }
    for name, (body, extra, status) in odd.items():
        assert wire.post_message(body, headers=headers | extra).status_code == status, name
    assert wire.post_message(None, headers=headers, raw=b"{").status_code == 400
    refused = message_of(wire.post_message(tool_call_message("fly"), headers=headers))
    assert (refused["error"]["code"], refused["error"]["message"]) == (-32602, "Unknown tool: fly")
    assert is_fast_answer(wire.post_message(good, headers=headers | {"Accept": "*/*"}))
