"""ASGI for the HTTP surfaces: read the body and the token of a request, send an answer, notice a client that leaves.

The surfaces also tell the listener facts about a connection, through keys of the request's scope.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from typing import TypeVar

from starlette.types import Message, Receive, Scope, Send

from maestro.core import errors, limits

JSON_HEADER = (b"content-type", b"application/json")
MARK_IDENTIFIED_KEY = "maestro.mark_identified"  # the scope's key of the listener's function
OUTCOME_KEY = "maestro.outcome"  # the scope's key of the connection's outcome
_TOO_LARGE = "The request is too large: a body has at most {bytes_max} bytes."

_Result = TypeVar("_Result")


def mark_identified(scope: Scope) -> None:
    """Tell the listener that the connection's caller is known. The listener no longer closes the connection early."""
    callback = scope.get(MARK_IDENTIFIED_KEY)
    if callback is not None:
        callback()


def read_bearer_token(headers: Mapping[bytes, bytes]) -> str:
    """Return the token in the header `Authorization`; an empty text without a bearer token."""
    scheme, _, token = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


async def read_body(
    receive: Receive, *, bytes_max: int = limits.body_bytes_max, too_large: str = _TOO_LARGE
) -> bytes | None:
    """Return a request's body; None if the client left before the body was complete. Refuse a body over the limit."""
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > bytes_max:
            raise errors.TooLarge(too_large.format(bytes_max=bytes_max))
        if not message.get("more_body"):
            return parts[0] if len(parts) == 1 else b"".join(parts)


async def require_body(
    receive: Receive, *, bytes_max: int = limits.body_bytes_max, too_large: str = _TOO_LARGE
) -> bytes:
    """Return a request's body. Refuse a body that ended early, and a body over the limit."""
    body = await read_body(receive, bytes_max=bytes_max, too_large=too_large)
    if body is None:
        raise errors.Invalid("The request ended before its body was complete.")
    return body


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
    """Send head and body in the same turn of the event loop, which joins them in a single write."""
    headers = [JSON_HEADER, (b"content-length", str(len(body)).encode()), *extra]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def wait_for_disconnect(receive: Receive) -> None:
    """Wait until the client has closed the connection."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def await_while_connected(work: Awaitable[_Result], receive: Receive, *, closed: str) -> _Result:
    """Return the result of the work. If the client closes the connection first, cancel the work and raise TimedOut.

    `closed`: the message of the error.
    """
    working = asyncio.ensure_future(work)
    disconnect = asyncio.ensure_future(wait_for_disconnect(receive))
    try:
        await asyncio.wait({working, disconnect}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise errors.TimedOut(closed)
        return working.result()
    finally:
        working.cancel()
        disconnect.cancel()
        await asyncio.gather(working, disconnect, return_exceptions=True)
