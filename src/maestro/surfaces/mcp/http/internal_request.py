"""Send requests of Maestro itself to the SDK: introduce or end the session of a client."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
from starlette.types import Message, Scope

from maestro.domain.callers import Caller
from maestro.surfaces import asgi
from maestro.surfaces.mcp.http import headers
from maestro.surfaces.mcp.http.sdk_connection import HttpConnection
from maestro.surfaces.mcp.sdk.connection import CONNECTION_KEY
from maestro.surfaces.mcp.sdk.lazy_engine import LazyEngine


class InternalRequest:
    """A request of Maestro itself to the SDK, and the SDK's answer."""

    def __init__(self, method: str, message: Any, extra: tuple[tuple[bytes, bytes], ...], **scope: Any) -> None:
        self.status = 0
        self.session_id = ""
        self._done = asyncio.Event()
        self._body = msgspec.json.encode(message) if message is not None else b""
        self.scope: Scope = {
            "type": "http",
            "method": method,
            "path": "/mcp",
            "query_string": b"",
            "headers": [
                (b"host", b"localhost"),
                asgi.JSON_HEADER,
                (b"accept", b"application/json, text/event-stream"),
                *extra,
            ],
            **scope,
        }
        self.receive = asgi.replay_body(self._body, self._wait_for_answer)

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.session_id = headers.find_header(message, b"mcp-session-id")
        elif not message.get("more_body"):
            self._done.set()

    async def _wait_for_answer(self) -> Message:
        await self._done.wait()
        return {"type": "http.disconnect"}


async def send_internal_request(
    engine: LazyEngine, method: str, message: Any, caller: Caller, *extra: tuple[bytes, bytes]
) -> InternalRequest:
    """Send a request of Maestro itself to the SDK, and return the request with its answer."""
    loaded = await engine.load_engine()
    connection = HttpConnection(caller, {}, None, hang_up=lambda: None)
    request = InternalRequest(method, message, extra, **{CONNECTION_KEY: connection})
    await loaded.handle_request(request.scope, request.receive, request.send)
    return request
