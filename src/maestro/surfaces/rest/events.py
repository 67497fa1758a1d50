"""The event log as server-sent events. Each has its sequence number, and `Last-Event-ID` continues after a number."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import msgspec
from starlette.types import Receive, Send

from maestro.core import errors, limits
from maestro.domain.callers import Caller
from maestro.domain.events import Event
from maestro.operations.app import App
from maestro.operations.base import Operation
from maestro.surfaces import asgi

_encode = msgspec.json.Encoder().encode
_HEADERS = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-store")]


def wants_stream(headers: dict[bytes, bytes]) -> bool:
    """Return whether the client asks for a stream."""
    return b"text/event-stream" in headers.get(b"accept", b"")


async def stream_events(
    app: App,
    operation: Operation,
    request: Any,
    caller: Caller,
    headers: dict[bytes, bytes],
    receive: Receive,
    send: Send,
) -> None:
    """Stream events until the client closes the connection."""
    stream_request = _resume_request(request, headers)
    # Errors of the request are raised before the stream starts: a started stream cannot report an error.
    await app.call(operation, msgspec.structs.replace(stream_request, since=0, follow=False, limit=1), caller=caller)
    items = app.stream(operation, stream_request, caller=caller)
    await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
    sender = asyncio.create_task(_send_items(items, send))
    disconnect = asyncio.create_task(asgi.wait_for_disconnect(receive))
    try:
        await asyncio.wait({sender, disconnect}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (sender, disconnect):
            task.cancel()
        await asyncio.gather(sender, disconnect, return_exceptions=True)
    await send({"type": "http.response.body", "body": b""})


def _resume_request(request: Any, headers: dict[bytes, bytes]) -> Any:
    """Return the request of a stream. A client that connects again names the last event it has."""
    last = headers.get(b"last-event-id", b"").decode("latin-1").strip()
    if last and not (last.isascii() and last.isdigit() and len(last) <= 18):
        raise errors.Invalid("Last-Event-ID is not valid: send the id of an event.")
    since = int(last) if last else request.since
    return msgspec.structs.replace(request, since=since, follow=True)


async def _send_items(items: AsyncIterator[Any], send: Send) -> None:
    """Send items as they arrive, and a comment at intervals, so that the connection does not look dead."""
    following = items.__aiter__()
    waiting: asyncio.Future[Any] = asyncio.ensure_future(_next_item(following))
    try:
        while True:
            done, _ = await asyncio.wait({waiting}, timeout=limits.sse_ping_seconds)
            if not done:
                await send({"type": "http.response.body", "body": b": still here\n\n", "more_body": True})
                continue
            item = waiting.result()
            if item is None:
                return
            await send({"type": "http.response.body", "body": _encode_event(item), "more_body": True})
            waiting = asyncio.ensure_future(_next_item(following))
    finally:
        waiting.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await waiting


async def _next_item(items: AsyncIterator[Any]) -> Any:
    return await anext(items, None)


def _encode_event(item: Any) -> bytes:
    kind = item.kind if isinstance(item, Event) else "resync"
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (item.seq, kind.encode(), _encode(item))
