"""Maestro itself sends requests to the SDK and receives the whole answers."""

from __future__ import annotations

from maestro.surfaces.mcp.http.endpoint import McpEndpoint
from maestro.surfaces.mcp.http.internal_request import InternalRequest, send_internal_request
from maestro.testing.mcp_asgi import AsgiClient


async def test_the_sdk_answers_an_internal_handshake_with_a_session_id(
    client: AsgiClient, endpoint: McpEndpoint
) -> None:
    (session,) = endpoint.sessions
    hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": session.initialize_params}
    request = await send_internal_request(endpoint.engine, "POST", hello, session.caller)
    assert request.status == 200 and request.session_id
    header = (b"mcp-session-id", request.session_id.encode())
    ended = await send_internal_request(endpoint.engine, "DELETE", None, session.caller, header)
    assert ended.status == 200


async def test_an_internal_request_disconnects_only_after_the_whole_answer() -> None:
    request = InternalRequest("POST", {"a": 1}, ((b"x", b"y"),), state="value")
    assert (b"x", b"y") in request.scope["headers"] and request.scope["state"] == "value"
    assert (await request.receive())["body"] == b'{"a":1}'
    await request.send({"type": "http.response.start", "status": 202, "headers": [(b"mcp-session-id", b"s")]})
    await request.send({"type": "http.response.body", "body": b"", "more_body": True})
    assert not request._done.is_set()
    await request.send({"type": "http.response.body", "body": b""})
    assert (await request.receive())["type"] == "http.disconnect"
    assert (request.status, request.session_id) == (202, "s")
