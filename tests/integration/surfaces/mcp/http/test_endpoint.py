"""The endpoint /mcp over real HTTP: tokens, sessions, and sessions that outlive the server."""

from __future__ import annotations

import httpx

from maestro.testing.live import LiveServer
from maestro.testing.mcp_wire import McpWire, is_fast_answer, tool_call_message


def test_a_session_ends_whether_or_not_the_sdk_knows_it(wire: McpWire) -> None:
    short, long = wire.initialize_session(), wire.initialize_session()
    wire.post_message({"jsonrpc": "2.0", "id": 1, "method": "prompts/list"}, headers=long)
    assert wire.delete_session(short) == wire.delete_session(long) == 200
    for headers in (short, long):
        assert wire.post_message(tool_call_message("whoami"), headers=headers).status_code == 404


def test_a_request_needs_a_valid_token_and_the_caller_of_its_session(
    wire: McpWire, live: LiveServer, tokens: dict[str, str], api: httpx.Client
) -> None:
    headers = wire.initialize_session()
    other = McpWire(live, tokens["boss"])
    assert (
        other.post_message(tool_call_message("whoami"), headers=headers).status_code == 404
    )  # the session of another caller
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
    assert is_fast_answer(wire.post_message(tool_call_message("whoami"), headers=headers))
    assert wire.delete_session(headers) == 200
    assert wire.post_message(tool_call_message("whoami"), headers=headers).status_code == 404
