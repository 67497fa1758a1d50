"""MCP sessions over HTTP are introduced to the SDK, end when they are idle, and end with their Maestro session."""

from __future__ import annotations

import asyncio
import time

from maestro.core import limits
from maestro.domain.callers import Caller
from maestro.operations import sessions
from maestro.server.app import Server
from maestro.surfaces.mcp.http.endpoint import McpEndpoint
from maestro.testing.mcp_asgi import AsgiClient, wait_until
from maestro.testing.mcp_wire import tool_call_message


async def test_an_idle_mcp_session_is_ended_and_starts_again_with_the_same_id(
    client: AsgiClient, endpoint: McpEndpoint
) -> None:
    await client.send_request(
        tool_call_message("wait", {"timeout": 0})
    )  # loads the SDK, so that its tasks are counted in `before`
    before = len(asyncio.all_tasks())
    others = [AsgiClient(endpoint, client.token) for _ in range(5)]
    for other in others:
        await other.initialize_session()
    waiting, done = client.start_request(tool_call_message("wait", {"timeout": 60}))
    await wait_until(lambda: any(session.open_requests for session in endpoint.sessions))
    endpoint.sessions.end_idle_sessions(time.monotonic() + limits.mcp_never_listening_seconds_max - 1)
    assert len(endpoint.sessions) == 6
    endpoint.sessions.end_idle_sessions(time.monotonic() + limits.mcp_never_listening_seconds_max + 1)
    assert len(endpoint.sessions) == 1  # a session with an open wait is not idle
    await wait_until(lambda: len(asyncio.all_tasks()) <= before + 10)
    assert "You are w" in (await others[0].send_request(tool_call_message("whoami"))).text
    assert len(endpoint.sessions) == 2
    waiting.client_leaves.set()
    await done


async def test_the_end_of_a_maestro_session_ends_its_mcp_sessions(
    client: AsgiClient, endpoint: McpEndpoint, server: Server, dana: Caller, vc: str
) -> None:
    await server.call(sessions.END, sessions.EndSession(id="w", project=vc), caller=dana)
    assert len(endpoint.sessions) == 0
    assert (await client.send_request(tool_call_message("whoami"))).status == 401


async def test_an_mcp_session_is_introduced_to_the_sdk_once(client: AsgiClient, endpoint: McpEndpoint) -> None:
    (session,) = endpoint.sessions
    assert not session.sdk_id and not endpoint.engine.is_loaded
    assert await endpoint.sessions.introduce_to_sdk(session)
    first = session.sdk_id
    assert first and first != session.client_id
    assert await endpoint.sessions.introduce_to_sdk(session) and session.sdk_id == first
    await wait_until(lambda: session.notify_tools_changed is not None)  # the SDK has received the whole handshake


async def test_a_request_to_a_deleted_mcp_session_is_refused(client: AsgiClient, endpoint: McpEndpoint) -> None:
    assert (await client.send_request(None, "DELETE")).status == 200
    assert len(endpoint.sessions) == 0
    assert (await client.send_request(tool_call_message("whoami"))).status == 404


async def test_a_client_gets_notifications_of_tool_lists_only_while_a_stream_is_open(
    client: AsgiClient, endpoint: McpEndpoint
) -> None:
    (session,) = endpoint.sessions
    await endpoint.sessions.introduce_to_sdk(session)
    await wait_until(lambda: session.notify_tools_changed is not None)
    assert session.tool_list is not None and session.tool_list.notify_client is None
    with endpoint.sessions.count_stream(session):
        assert session.tool_list.notify_client is session.notify_tools_changed
    assert session.tool_list.notify_client is None and session.open_streams == 0
