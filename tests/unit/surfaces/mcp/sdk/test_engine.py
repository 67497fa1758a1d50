"""The engine answers waits, tool calls and resource requests with the SDK."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from maestro.core import limits
from maestro.server.app import Server
from maestro.surfaces.mcp.http.endpoint import McpEndpoint
from maestro.testing.mcp_asgi import WAIT_SECONDS_MAX, AsgiClient, AsgiRequest, wait_until
from maestro.testing.mcp_wire import tool_call_message


async def test_a_wait_reports_progress_and_ends_when_the_client_leaves(
    client: AsgiClient, monkeypatch: pytest.MonkeyPatch, server: Server
) -> None:
    monkeypatch.setattr(limits, "mcp_progress_seconds", 0.02)
    asked = tool_call_message("wait", {"timeout": 60})
    asked["params"]["_meta"] = {"progressToken": "t"}
    request, done = client.start_request(asked)
    await wait_until(lambda: request.text.count("notifications/progress") >= 3)
    reports = [json.loads(line[6:])["params"] for line in request.text.splitlines() if line.startswith("data: ")]
    assert [report["progress"] for report in reports] == sorted({report["progress"] for report in reports})
    request.client_leaves.set()
    async with asyncio.timeout(WAIT_SECONDS_MAX):
        await done
    (session,) = client.endpoint.sessions
    assert session.open_requests == 0
    await wait_until(lambda: not server.parts.identity.presence.connected_sessions())


def result_of(request: AsgiRequest) -> Any:
    """Return the result, or the error, in the last event of a stream."""
    (*_, last) = [line for line in request.text.splitlines() if line.startswith("data: {")]
    message = json.loads(last.removeprefix("data: "))
    return message.get("result") or message["error"]


async def test_the_stop_of_the_server_answers_an_open_wait(client: AsgiClient, endpoint: McpEndpoint) -> None:
    request, done = client.start_request(tool_call_message("wait", {"timeout": 60}))
    await wait_until(lambda: any(session.open_requests for session in endpoint.sessions))
    await wait_until(lambda: endpoint.engine.is_loaded)
    await wait_until(lambda: request.status == 200)
    await endpoint.stop()
    async with asyncio.timeout(WAIT_SECONDS_MAX):
        await done
    assert "The server stops" in result_of(request)["content"][0]["text"]


async def test_an_unknown_tool_and_an_unknown_resource_are_protocol_errors(client: AsgiClient) -> None:
    unknown = result_of(await client.send_request(tool_call_message("fly")))
    assert unknown["message"] == "Unknown tool: fly"
    reading = {"jsonrpc": "2.0", "id": 2, "method": "resources/read", "params": {"uri": "maestro://nothing"}}
    refused = result_of(await client.send_request(reading))
    assert "There is no resource" in refused["message"] and refused["data"] == {"uri": "maestro://nothing"}


async def test_a_resource_is_read_as_text(client: AsgiClient) -> None:
    reading = {"jsonrpc": "2.0", "id": 2, "method": "resources/read", "params": {"uri": "maestro://primer"}}
    (content,) = result_of(await client.send_request(reading))["contents"]
    assert content["mimeType"] == "text/plain" and "You are w" in content["text"]


async def test_a_resource_is_watched_until_the_client_unsubscribes(client: AsgiClient, endpoint: McpEndpoint) -> None:
    (session,) = endpoint.sessions
    params = {"uri": "maestro://inbox"}
    await client.send_request({"jsonrpc": "2.0", "id": 2, "method": "resources/subscribe", "params": params})
    assert session.updates is not None and list(session.updates._topics) == ["maestro://inbox"]
    await client.send_request({"jsonrpc": "2.0", "id": 3, "method": "resources/unsubscribe", "params": params})
    assert not session.updates._topics
