"""A client of the MCP endpoint in the same process, over ASGI."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from starlette.types import Message, Scope

from maestro.surfaces.mcp.http.endpoint import McpEndpoint
from maestro.testing.mcp_wire import ACCEPT

WAIT_SECONDS_MAX = 20


class AsgiRequest:
    """A request, and the parts of its answer that have arrived."""

    def __init__(self, token: str, method: str, body: Any, headers: dict[str, str]) -> None:
        fixed = {"host": "localhost", "authorization": f"Bearer {token}", "accept": ACCEPT}
        fixed |= {"content-type": "application/json"} | headers
        named = [(name.lower().encode(), value.encode()) for name, value in fixed.items()]
        self.scope: Scope = {"type": "http", "method": method, "path": "/mcp", "query_string": b"", "headers": named}
        self.status = 0
        self.headers: dict[str, str] = {}
        self.text = ""
        self.client_leaves = asyncio.Event()
        self._body = json.dumps(body).encode() if body is not None else b""
        self._is_sent = False

    async def receive(self) -> Message:
        if not self._is_sent:
            self._is_sent = True
            return {"type": "http.request", "body": self._body, "more_body": False}
        await self.client_leaves.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {name.decode(): value.decode() for name, value in message["headers"]}
        else:
            self.text += message.get("body", b"").decode()


class AsgiClient:
    """A client of the endpoint, with a token."""

    def __init__(self, endpoint: McpEndpoint, token: str) -> None:
        self.endpoint = endpoint
        self.token = token
        self.session: dict[str, str] = {}

    def start_request(self, body: Any, method: str = "POST") -> tuple[AsgiRequest, asyncio.Task[None]]:
        request = AsgiRequest(self.token, method, body, self.session)
        return request, asyncio.create_task(self.endpoint(request.scope, request.receive, request.send))

    async def send_request(self, body: Any, method: str = "POST") -> AsgiRequest:
        request, done = self.start_request(body, method)
        async with asyncio.timeout(WAIT_SECONDS_MAX):
            await done
        return request

    async def initialize_session(self) -> None:
        info = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "b", "version": "1"}}
        answer = await self.send_request({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": info})
        self.session = {"mcp-session-id": answer.headers["mcp-session-id"]}
        await self.send_request({"jsonrpc": "2.0", "method": "notifications/initialized"})


async def wait_until(holds: Callable[[], bool]) -> None:
    """Wait until a condition holds that no event announces, because it arises in tasks of the SDK."""
    async with asyncio.timeout(WAIT_SECONDS_MAX):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.005)
