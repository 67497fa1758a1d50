"""The MCP endpoint handles clients that leave early, do not read, have no valid token, or send too much."""

from __future__ import annotations

import asyncio

import pytest
from starlette.types import Message

from maestro.core import limits
from maestro.domain.callers import Caller
from maestro.operations import mail, mail_shapes, sessions
from maestro.server.app import Server
from maestro.surfaces.mcp.http.endpoint import McpEndpoint
from maestro.testing.mcp_asgi import WAIT_SECONDS_MAX, AsgiClient, AsgiRequest, wait_until
from maestro.testing.mcp_wire import tool_call_message


async def test_mail_is_not_delivered_to_a_wait_whose_client_has_left(
    client: AsgiClient, server: Server, dana: Caller, vc: str
) -> None:
    request, done = client.start_request(tool_call_message("wait", {"timeout": 60}))
    await wait_until(lambda: any(session.open_requests for session in client.endpoint.sessions))
    request.client_leaves.set()
    async with asyncio.timeout(WAIT_SECONDS_MAX):
        await done
    letter = mail_shapes.SendMail(to=["w"], project=vc, subject="Hi", message="There.")
    sent = await server.call(mail.SEND, letter, caller=dana)
    status = await server.call(mail.STATUS, mail_shapes.OneMessage(id=sent.id), caller=dana)
    assert [delivery.status for delivery in status.deliveries] == ["sent"]
    assert "There." in (await client.send_request(tool_call_message("inbox"))).text


async def test_a_client_that_does_not_read_is_disconnected_and_delays_no_other_client(
    client: AsgiClient, endpoint: McpEndpoint, server: Server, dana: Caller, vc: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "mcp_stalled_seconds", 0.05)
    stalled = asyncio.Event()
    stream = AsgiRequest(client.token, "GET", None, client.session)

    async def stall(message: Message) -> None:
        if message["type"] == "http.response.body" and b"updated" in message.get("body", b""):
            await stalled.wait()
        await stream.send(message)

    reading = asyncio.create_task(endpoint(stream.scope, stream.receive, stall))
    await wait_until(lambda: any(session.open_streams for session in endpoint.sessions))
    watch = {"jsonrpc": "2.0", "id": 5, "method": "resources/subscribe", "params": {"uri": "maestro://inbox"}}
    assert (await client.send_request(watch)).status == 200
    letter = mail_shapes.SendMail(to=["w"], project=vc, subject="Hi", message="There.")

    async def keep_sending() -> None:
        while len(endpoint.sessions):
            await server.call(mail.SEND, letter, caller=dana)
            await asyncio.sleep(0.002)

    async with asyncio.timeout(WAIT_SECONDS_MAX):
        await keep_sending()
    stalled.set()
    stream.client_leaves.set()
    reading.cancel()
    assert "You are w" in (await client.send_request(tool_call_message("whoami"))).text


async def test_a_request_without_a_token_or_with_the_session_of_another_caller_is_refused(
    client: AsgiClient, endpoint: McpEndpoint, server: Server, dana: Caller, vc: str
) -> None:
    registered = await server.call(sessions.REGISTER, sessions.RegisterSession(project=vc, name="x"), caller=dana)
    other = AsgiClient(endpoint, registered.token)
    other.session = client.session
    assert (await other.send_request(tool_call_message("whoami"))).status == 404
    other.token = ""
    refused = await other.send_request(tool_call_message("whoami"))
    assert (refused.status, refused.headers["www-authenticate"]) == (401, "Bearer")


async def test_a_request_body_above_the_limit_is_refused(client: AsgiClient) -> None:
    message = tool_call_message("send", {"message": "x" * limits.body_bytes_max})
    assert (await client.send_request(message)).status == 413
