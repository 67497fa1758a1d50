"""An MCP session over a pipe is answered by the fast path first, and by the SDK when a call needs the SDK."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from maestro.domain.callers import Caller
from maestro.operations import mail, mail_shapes, sessions
from maestro.server.app import Server
from maestro.surfaces.mcp.http.endpoint import McpEndpoint
from maestro.surfaces.mcp.stdio.server import PipeOrigin, StdioServer
from maestro.testing.mcp_asgi import WAIT_SECONDS_MAX
from maestro.testing.mcp_wire import tool_call_message

HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "b", "version": "1"}}
INITIALIZE = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HELLO}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


class MemoryPipe:
    """A pipe in memory with the client's lines as input and the answers as output. The client confirms every mark."""

    def __init__(self) -> None:
        self.input: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.output: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    async def input_pieces(self) -> AsyncIterator[bytes]:
        while (piece := await self.input.get()) is not None:
            yield piece

    async def write_out(self, data: str | bytes) -> None:
        await self.output.put(json.loads(data))

    async def mark_output(self) -> None:
        await self.input.put(b"")

    async def flush(self) -> None: ...

    async def write(self, *messages: Any) -> None:
        for message in messages:
            await self.input.put(json.dumps(message).encode() + b"\n")

    async def read(self) -> dict[str, Any]:
        async with asyncio.timeout(WAIT_SECONDS_MAX):
            return await self.output.get()


@pytest.fixture
async def pipe(server: Server, endpoint: McpEndpoint, dana: Caller, vc: str) -> AsyncIterator[MemoryPipe]:
    registered = await server.call(sessions.REGISTER, sessions.RegisterSession(project=vc, name="w"), caller=dana)
    stdio = StdioServer(server, endpoint.fast_path, endpoint.engine, endpoint.tool_lists)
    made = MemoryPipe()
    serving = asyncio.create_task(stdio.serve_pipe(made, PipeOrigin(None, "/", {"MAESTRO_TOKEN": registered.token})))
    yield made
    await made.input.put(None)
    async with asyncio.timeout(WAIT_SECONDS_MAX):
        await serving


async def test_a_handshake_and_quick_calls_are_answered_without_the_sdk(
    pipe: MemoryPipe, endpoint: McpEndpoint
) -> None:
    await pipe.write(INITIALIZE, INITIALIZED, tool_call_message("whoami", {}, 1))
    assert (await pipe.read())["result"]["protocolVersion"] == "2025-06-18"
    assert "You are w" in (await pipe.read())["result"]["content"][0]["text"]
    assert not endpoint.engine.is_loaded


async def test_the_sdk_gets_the_handshake_that_the_fast_path_answered(
    pipe: MemoryPipe, endpoint: McpEndpoint
) -> None:
    await pipe.write(INITIALIZE, INITIALIZED, tool_call_message("wait", {"timeout": 0.01}, 1))
    answers = [await pipe.read(), await pipe.read()]
    assert [answer["id"] for answer in answers] == [0, 1]  # the SDK answers the handshake too: this answer is dropped
    assert "result" in answers[1] and endpoint.engine.is_loaded
    await pipe.write(tool_call_message("whoami", {}, 2))
    assert (await pipe.read())["id"] == 2


async def test_mail_is_marked_as_read_after_the_client_confirmed_the_answer(
    pipe: MemoryPipe, server: Server, dana: Caller, vc: str
) -> None:
    letter = mail_shapes.SendMail(to=["w"], project=vc, subject="Hi", message="There.")
    sent = await server.call(mail.SEND, letter, caller=dana)
    await pipe.write(INITIALIZE, INITIALIZED, tool_call_message("inbox", {}, 1))
    await pipe.read()
    assert "There." in (await pipe.read())["result"]["content"][0]["text"]
    await pipe.write(tool_call_message("whoami", {}, 2))
    await pipe.read()
    status = await server.call(mail.STATUS, mail_shapes.OneMessage(id=sent.id), caller=dana)
    assert [delivery.status for delivery in status.deliveries] == ["read"]


async def test_an_unknown_tool_and_empty_lines_do_not_end_the_mcp_session(pipe: MemoryPipe) -> None:
    await pipe.write(INITIALIZE, INITIALIZED)
    await pipe.read()
    await pipe.write(tool_call_message("fly", {}, 1))
    assert (await pipe.read())["error"]["message"] == "Unknown tool: fly"
    await pipe.input.put(b"\n  \n")
    await pipe.write(tool_call_message("whoami", {}, 2))
    assert (await pipe.read())["id"] == 2
