"""The endpoint in this process: sessions that are silent, waits that tell progress, streams that nobody reads."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from starlette.types import Message, Scope

from maestro.core import limits
from maestro.domain.callers import Caller
from maestro.operations import mail, mail_shapes, sessions
from maestro.server import mcp
from maestro.server.app import Server
from maestro.surfaces.mcp.endpoint import McpEndpoint
from maestro.testing.mcp_wire import ACCEPT, tool_call_message

PATIENCE_SECONDS = 20


class Exchange:
    """One request and what has come of it so far."""

    def __init__(self, token: str, method: str, body: Any, headers: dict[str, str]) -> None:
        fixed = {"host": "localhost", "authorization": f"Bearer {token}", "accept": ACCEPT}
        fixed |= {"content-type": "application/json"} | headers
        named = [(name.lower().encode(), value.encode()) for name, value in fixed.items()]
        self.scope: Scope = {"type": "http", "method": method, "path": "/mcp", "query_string": b"", "headers": named}
        self.status = 0
        self.headers: dict[str, str] = {}
        self.text = ""
        self.gone = asyncio.Event()
        self._body = json.dumps(body).encode() if body is not None else b""
        self._asked = False

    async def receive(self) -> Message:
        if not self._asked:
            self._asked = True
            return {"type": "http.request", "body": self._body, "more_body": False}
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {name.decode(): value.decode() for name, value in message["headers"]}
        else:
            self.text += message.get("body", b"").decode()


class Client:
    """A client of the endpoint, with a token."""

    def __init__(self, endpoint: McpEndpoint, token: str) -> None:
        self.endpoint = endpoint
        self.token = token
        self.session: dict[str, str] = {}

    def begin(self, body: Any, method: str = "POST") -> tuple[Exchange, asyncio.Task[None]]:
        exchange = Exchange(self.token, method, body, self.session)
        return exchange, asyncio.create_task(self.endpoint(exchange.scope, exchange.receive, exchange.send))

    async def ask(self, body: Any) -> Exchange:
        exchange, done = self.begin(body)
        async with asyncio.timeout(PATIENCE_SECONDS):
            await done
        return exchange

    async def hello(self) -> None:
        info = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "b", "version": "1"}}
        answer = await self.ask({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": info})
        self.session = {"mcp-session-id": answer.headers["mcp-session-id"]}
        await self.ask({"jsonrpc": "2.0", "method": "notifications/initialized"})


@pytest.fixture
async def endpoint(server: Server) -> AsyncIterator[McpEndpoint]:
    made = mcp.build_endpoint(server)
    yield made
    await made.stop()


@pytest.fixture
async def client(server: Server, endpoint: McpEndpoint, dana: Caller, vc: str) -> Client:
    registered = await server.call(sessions.REGISTER, sessions.RegisterSession(project=vc, name="w"), caller=dana)
    made = Client(endpoint, registered.token)
    await made.hello()
    return made


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not holds():  # noqa: ASYNC110 (what is waited for is in the SDK's tasks)
            await asyncio.sleep(0.005)


async def test_a_silent_session_is_ended_and_its_id_brings_it_back(client: Client, endpoint: McpEndpoint) -> None:
    await client.ask(
        tool_call_message("wait", {"timeout": 0})
    )  # the SDK knows this client now, and its tasks are counted
    before = len(asyncio.all_tasks())
    others = [Client(endpoint, client.token) for _ in range(5)]
    for one in others:
        await one.hello()
    waiting, done = client.begin(tool_call_message("wait", {"timeout": 60}))
    await asyncio.sleep(0.05)
    endpoint.sessions.end_idle_sessions(time.monotonic() + limits.mcp_never_listening_seconds_max - 1)
    assert len(endpoint.sessions) == 6
    endpoint.sessions.end_idle_sessions(time.monotonic() + limits.mcp_never_listening_seconds_max + 1)
    assert len(endpoint.sessions) == 1  # a wait is no silence
    await until(lambda: len(asyncio.all_tasks()) <= before + 10)
    assert "You are w" in (await others[0].ask(tool_call_message("whoami"))).text
    assert len(endpoint.sessions) == 2
    waiting.gone.set()
    await done


async def test_a_session_that_ends_takes_its_clients_along(
    client: Client, endpoint: McpEndpoint, server: Server, dana: Caller, vc: str
) -> None:
    await server.call(sessions.END, sessions.EndSession(id="w", project=vc), caller=dana)
    assert len(endpoint.sessions) == 0
    assert (await client.ask(tool_call_message("whoami"))).status == 401


async def test_a_wait_tells_progress_and_ends_when_its_client_is_gone(
    client: Client, monkeypatch: pytest.MonkeyPatch, server: Server
) -> None:
    monkeypatch.setattr(limits, "mcp_progress_seconds", 0.02)
    asked = tool_call_message("wait", {"timeout": 60})
    asked["params"]["_meta"] = {"progressToken": "t"}
    exchange, done = client.begin(asked)
    await until(lambda: exchange.text.count("notifications/progress") >= 3)
    told = [json.loads(line[6:])["params"] for line in exchange.text.splitlines() if line.startswith("data: ")]
    assert [one["progress"] for one in told] == sorted({one["progress"] for one in told})
    exchange.gone.set()
    async with asyncio.timeout(PATIENCE_SECONDS):
        await done
    (session,) = client.endpoint.sessions
    assert session.open_requests == 0
    await until(lambda: not server.presence.connected_sessions())


async def test_who_hangs_up_before_the_answer_has_not_been_shown_it(
    client: Client, server: Server, dana: Caller, vc: str
) -> None:
    exchange, done = client.begin(tool_call_message("wait", {"timeout": 60}))
    await asyncio.sleep(0.05)
    exchange.gone.set()
    async with asyncio.timeout(PATIENCE_SECONDS):
        await done
    letter = mail_shapes.SendMail(to=["w"], project=vc, subject="Hi", message="There.")
    sent = await server.call(mail.SEND, letter, caller=dana)
    status = await server.call(mail.STATUS, mail_shapes.OneMessage(id=sent.id), caller=dana)
    assert [one.status for one in status.deliveries] == ["sent"]
    assert "There." in (await client.ask(tool_call_message("inbox"))).text


async def test_a_reader_that_stalls_holds_up_nobody_and_is_let_go(
    client: Client, endpoint: McpEndpoint, server: Server, dana: Caller, vc: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "mcp_stalled_seconds", 0.05)
    stalled = asyncio.Event()
    stream = Exchange(client.token, "GET", None, client.session)

    async def never(message: Message) -> None:
        if message["type"] == "http.response.body" and b"updated" in message.get("body", b""):
            await stalled.wait()
        await stream.send(message)

    reading = asyncio.create_task(endpoint(stream.scope, stream.receive, never))
    await asyncio.sleep(0.05)
    watch = {"jsonrpc": "2.0", "id": 5, "method": "resources/subscribe", "params": {"uri": "maestro://inbox"}}
    assert (await client.ask(watch)).status == 200
    letter = mail_shapes.SendMail(to=["w"], project=vc, subject="Hi", message="There.")

    async def keep_sending() -> None:
        while len(endpoint.sessions):
            await server.call(mail.SEND, letter, caller=dana)
            await asyncio.sleep(0.002)

    async with asyncio.timeout(PATIENCE_SECONDS):
        await keep_sending()
    stalled.set()
    stream.gone.set()
    reading.cancel()
    assert "You are w" in (await client.ask(tool_call_message("whoami"))).text
