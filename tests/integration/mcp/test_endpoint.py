"""The endpoint by hand: who is let in, the two ways held equal, sessions that outlive the server."""

from __future__ import annotations

import json
import re
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from maestro.testing.live import LiveServer
from maestro.testing.mcp_wire import META, McpWire, message_of, tool_call_message

MODERN = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call"}


def is_short(answer: httpx.Response) -> bool:
    """The SDK answers calls with streams of events, the short way with plain JSON."""
    return answer.headers["content-type"] == "application/json"


HANDSHAKES = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("whoami", {}),
    ("task_create", {"title": 'Ümläut "quoted"'}),
    ("tasks", {"action": "show", "id": "vc#99"}),
    ("tasks", {}),
]


def settled(wire: McpWire, version: str) -> dict[str, str]:
    """The headers of a session whose handshake the server has taken in; it says so by answering the short way."""
    headers = wire.initialize_session(version)
    deadline = time.monotonic() + 20
    while not is_short(wire.post_message(tool_call_message("whoami"), headers=headers)):
        assert time.monotonic() < deadline
    return headers


LISTS = ("tools/list", "resources/list", "resources/templates/list")


def hello(version: str) -> dict[str, Any]:
    info = {"name": "b", "version": "1", "title": "B"}
    capabilities = {"roots": {"listChanged": True}, "elicitation": {}, "experimental": {"x": {}}}
    params = {"protocolVersion": version, "capabilities": capabilities, "clientInfo": info}
    return {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}


def test_both_ways_say_the_same(wire: McpWire) -> None:
    for version in (*HANDSHAKES, "2026-07-28", "1999-01-01"):
        same(wire, hello(version), {})
    for version in HANDSHAKES:
        headers = settled(wire, version)
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


def test_a_session_that_the_sdk_has_not_heard_of_ends_like_any_other(wire: McpWire) -> None:
    short, long = wire.initialize_session(), wire.initialize_session()
    wire.post_message({"jsonrpc": "2.0", "id": 1, "method": "prompts/list"}, headers=long)
    assert wire.delete_session(short) == wire.delete_session(long) == 200
    for headers in (short, long):
        assert wire.post_message(tool_call_message("whoami"), headers=headers).status_code == 404


def test_what_is_odd_in_a_handshake_is_the_sdks_to_answer(wire: McpWire) -> None:
    good = hello("2025-06-18")
    for field, value in (("capabilities", {"roots": 5}), ("clientInfo", {"name": "b"}), ("protocolVersion", 7)):
        refused = message_of(wire.post_message(good | {"params": good["params"] | {field: value}}))
        assert refused["error"]["code"] == -32602, refused
    headers = {"Mcp-Session-Id": wire.post_message(good).headers["mcp-session-id"]}
    early = wire.post_message(
        {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, headers=headers
    )  # before it is initialized
    assert not is_short(early)
    ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert wire.post_message(ready, headers=headers).status_code == 202
    assert "whoami" in wire.post_message({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}, headers=headers).text


def same(wire: McpWire, asked: dict[str, Any], headers: dict[str, str]) -> httpx.Response:
    short, long = wire.post_message(asked, headers=headers), wire.post_message(asked | {"zz": 1}, headers=headers)
    assert short.status_code == long.status_code == 200
    # At 2026-07-28 the SDK too answers in plain JSON where there is nothing else to say.
    assert is_short(short) and ("Mcp-Method" in headers or not is_short(long))
    one, other = json.dumps(message_of(short)), json.dumps(message_of(long))
    number = re.compile(r"vc#\d+")
    assert json.loads(number.sub("vc#", one)) == json.loads(number.sub("vc#", other))
    return short


def test_what_is_odd_is_the_sdks_to_answer(wire: McpWire) -> None:
    headers, good = settled(wire, "2025-06-18"), tool_call_message("whoami")
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
    assert is_short(wire.post_message(good, headers=headers | {"Accept": "*/*"}))


def test_only_who_has_a_token_gets_in(
    wire: McpWire, live: LiveServer, tokens: dict[str, str], api: httpx.Client
) -> None:
    headers = wire.initialize_session()
    other = McpWire(live, tokens["boss"])
    assert other.post_message(tool_call_message("whoami"), headers=headers).status_code == 404  # another's session
    other.token = "mst_none"
    refused = other.post_message(tool_call_message("whoami"), headers=headers)
    assert refused.status_code == 401 and refused.headers["www-authenticate"] == "Bearer"
    other.http.close()
    assert (
        wire.post_message(
            tool_call_message("whoami"), headers=headers | {"Origin": "http://evil.example"}
        ).status_code
        == 403
    )
    assert (
        wire.post_message(tool_call_message("whoami"), headers=headers | {"Host": "evil.example"}).status_code == 403
    )
    assert wire.post_message(tool_call_message("whoami"), headers=headers).status_code == 200
    assert api.post("/api/sessions/end", json={"id": "w", "project": "vc"}).status_code == 200
    assert wire.post_message(tool_call_message("whoami"), headers=headers).status_code == 401


def test_a_session_outlives_the_server_until_its_client_ends_it(wire: McpWire, live: LiveServer) -> None:
    headers = wire.initialize_session("2025-06-18", client="codex-mcp-client")
    assert wire.post_message(tool_call_message("whoami"), headers=headers).status_code == 200
    live.kill()
    live.start()
    answer = wire.post_message(tool_call_message("whoami"), headers=headers)
    assert answer.status_code == 200 and "You are w" in answer.text
    listed = wire.post_message({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}, headers=headers)
    assert listed.status_code == 200 and listed.headers["mcp-session-id"] == headers["Mcp-Session-Id"]
    assert is_short(wire.post_message(tool_call_message("whoami"), headers=headers))
    assert wire.delete_session(headers) == 200
    assert wire.post_message(tool_call_message("whoami"), headers=headers).status_code == 404


def test_nothing_that_the_server_is_made_of_imports_the_sdk() -> None:
    look = "import sys, maestro.server.lifecycle; sys.exit('mcp' in sys.modules or 'pydantic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", look], check=False).returncode == 0


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_the_sdk_is_not_there_until_it_is_needed(live: LiveServer, api: httpx.Client, wire: McpWire) -> None:
    """The server's memory map names every compiled library it has loaded: pydantic's comes with the SDK."""

    def has_sdk() -> bool:
        assert live.process is not None
        return "pydantic_core" in Path(f"/proc/{live.process.pid}/maps").read_text()

    for path in ("/api/status", "/api/whoami", "/api/openapi.json"):
        assert api.get(path).status_code == 200
    assert live.run_command("status").returncode == 0
    assert httpx.post(f"{live.url}/mcp", json=tool_call_message("whoami")).status_code == 401
    assert not has_sdk()
    headers = wire.initialize_session()
    for asked in (
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
        tool_call_message("whoami"),
        tool_call_message("inbox"),
    ):
        assert wire.post_message(asked, headers=headers).status_code == 200
    assert not has_sdk()
    assert wire.post_message(tool_call_message("wait", {"timeout": 0.01}), headers=headers).status_code == 200
    assert has_sdk()


def test_mail_is_read_when_the_client_shows_that_it_has_it(
    wire: McpWire, api: httpx.Client, live: LiveServer, tokens: dict[str, str]
) -> None:
    def sent() -> str:
        letter = {"to": ["w"], "project": "vc", "subject": "Hi", "message": "There."}
        message: str = api.post("/api/mail", json=letter).json()["id"]
        return message

    def status(message: str) -> str:
        (one,) = api.get(f"/api/mail/{message}/status").json()["deliveries"]
        word: str = one["status"]
        return word

    headers = settled(wire, "2025-11-25")
    first = sent()
    assert "There." in wire.post_message(tool_call_message("inbox"), headers=headers).text
    deadline = time.monotonic() + 20
    while status(first) != "delivered" and time.monotonic() < deadline:
        time.sleep(0.01)
    assert status(first) == "delivered"
    # Over another connection, at once: it may have been under way already, so it proves nothing.
    with McpWire(live, tokens["w"]).http as other:
        said = {"Authorization": f"Bearer {tokens['w']}", "Content-Type": "application/json", "Accept": "*/*"}
        other.post(f"{live.url}/mcp", content=json.dumps(tool_call_message("whoami")), headers=said | headers)
    assert status(first) == "delivered"
    # Over the same one: it could not, without having read the answer.
    wire.post_message(tool_call_message("whoami"), headers=headers)
    assert status(first) == "read"
    second = sent()
    text = message_of(wire.post_message(tool_call_message("wait", {"timeout": 20}), headers=headers))["result"][
        "content"
    ][0]["text"]
    assert "There." in text
    assert "no mail" in wire.post_message(tool_call_message("inbox"), headers=headers).text
    assert status(second) == "read"


def hang_up(how: str, sock: socket.socket) -> None:
    """As clients do: at once, with a reset, or after saying that they have no more to say."""
    if how == "reset":
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    elif how == "shutdown":
        sock.shutdown(socket.SHUT_RDWR)
    sock.close()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says how a connection ended")
@pytest.mark.parametrize("how", ["close", "reset", "shutdown"])
def test_mail_that_nobody_read_is_offered_again_whenever_its_client_gave_up(
    live: LiveServer, api: httpx.Client, project: Path, how: str
) -> None:
    """Cut before, while and after the answer is sent; then the agent goes on, over another connection."""
    gone: list[tuple[McpWire, dict[str, str], str]] = []
    for step, seconds in enumerate((0, 0.0005, 0.001, 0.002, 0.004, 0.008, 0.02, 0.1)):
        asked = {"project": "vc", "name": f"{how}-{step}"}
        wire = McpWire(live, api.post("/api/sessions", json=asked).json()["token"])
        headers = wire.initialize_session()
        letter = {"to": [asked["name"]], "project": "vc", "subject": "Hi", "message": "There."}
        message = api.post("/api/mail", json=letter).json()["id"]
        cut = wire.send_request_only(tool_call_message("inbox"), headers)
        time.sleep(seconds)
        hang_up(how, cut)
        gone.append((wire, headers, message))
    time.sleep(1.2)  # later than a call that was under way could come
    for wire, headers, message in gone:
        assert wire.post_message(tool_call_message("whoami", id=2), headers=headers).status_code == 200
        (one,) = api.get(f"/api/mail/{message}/status").json()["deliveries"]
        assert one["status"] in ("sent", "delivered")
        assert "There." in wire.post_message(tool_call_message("inbox", id=3), headers=headers).text
        wire.http.close()


def test_who_has_read_its_answer_and_closes_has_read_it(live: LiveServer, api: httpx.Client, project: Path) -> None:
    wire = McpWire(live, api.post("/api/sessions", json={"project": "vc", "name": "reader"}).json()["token"])
    headers = wire.initialize_session()
    letter = {"to": ["reader"], "project": "vc", "subject": "Hi", "message": "There."}
    message = api.post("/api/mail", json=letter).json()["id"]
    with wire.send_request_only(tool_call_message("inbox"), headers) as sock:
        said = b""
        while b"There." not in said:
            said += sock.recv(65536)
    time.sleep(1.2)
    assert wire.post_message(tool_call_message("whoami", id=2), headers=headers).status_code == 200
    (one,) = api.get(f"/api/mail/{message}/status").json()["deliveries"]
    assert one["status"] == "read"
    wire.http.close()
