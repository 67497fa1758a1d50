"""Helpers for ASGI: read a body, replay a body, send an answer, make a request to the SDK."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
from starlette.types import Message, Receive, Scope, Send

from maestro.core import errors, limits

encode = msgspec.json.Encoder().encode
OUTCOME_KEY = "maestro.fate"  # the scope's key of the connection's outcome
_JSON = (b"content-type", b"application/json")


async def read_body(receive: Receive) -> bytes | None:
    """Return a request's body; None if the client left before the body was complete."""
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > limits.body_bytes_max:
            raise errors.TooLarge(f"The request is too large: a body has at most {limits.body_bytes_max} bytes.")
        if not message.get("more_body"):
            return parts[0] if len(parts) == 1 else b"".join(parts)


def replay_body(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that first replays a body, for the next reader of the request."""
    is_replayed = False

    async def replay() -> Message:
        nonlocal is_replayed
        if is_replayed:
            return await receive()
        is_replayed = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


async def send_answer(send: Send, status: int, body: bytes, *extra: tuple[bytes, bytes]) -> None:
    """Send an answer with its whole body."""
    headers = [_JSON, (b"content-length", str(len(body)).encode()), *extra]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def find_header(message: Message, name: bytes) -> str:
    return next((value.decode("latin-1") for key, value in message["headers"] if key == name), "")


def replace_header(headers: list[tuple[bytes, bytes]], name: bytes, value: str) -> list[tuple[bytes, bytes]]:
    return [(key, value.encode() if key == name else old) for key, old in headers]


class InternalRequest:
    """A request of Maestro itself to the SDK, and the SDK's answer."""

    def __init__(self, method: str, message: Any, extra: tuple[tuple[bytes, bytes], ...], **scope: Any) -> None:
        self.status = 0
        self.session_id = ""
        self._done = asyncio.Event()
        self._body = encode(message) if message is not None else b""
        self.scope: Scope = {
            "type": "http",
            "method": method,
            "path": "/mcp",
            "query_string": b"",
            "headers": [
                (b"host", b"localhost"),
                _JSON,
                (b"accept", b"application/json, text/event-stream"),
                *extra,
            ],
            **scope,
        }
        self.receive = replay_body(self._body, self._wait_for_answer)

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.session_id = find_header(message, b"mcp-session-id")
        elif not message.get("more_body"):
            self._done.set()

    async def _wait_for_answer(self) -> Message:
        await self._done.wait()
        return {"type": "http.disconnect"}
