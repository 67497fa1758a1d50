"""The log as server-sent events: each carries its place, and `Last-Event-ID` goes on from there."""

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

_encode = msgspec.json.Encoder().encode
_HEADERS = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-store")]


def wanted(headers: dict[bytes, bytes]) -> bool:
    """Whether the client asked for a stream."""
    return b"text/event-stream" in headers.get(b"accept", b"")


async def serve(
    app: App,
    operation: Operation,
    request: Any,
    caller: Caller,
    headers: dict[bytes, bytes],
    receive: Receive,
    send: Send,
) -> None:
    """Stream until the client goes."""
    resumed = _resumed(request, headers)
    # Whatever is wrong with the request is said before the stream begins; afterwards it could only end.
    await app.call(operation, msgspec.structs.replace(resumed, since=0, follow=False, limit=1), caller=caller)
    items = app.stream(operation, resumed, caller=caller)
    await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
    pump = asyncio.create_task(_pump(items, send))
    left = asyncio.create_task(gone(receive))
    try:
        await asyncio.wait({pump, left}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (pump, left):
            task.cancel()
        await asyncio.gather(pump, left, return_exceptions=True)
    await send({"type": "http.response.body", "body": b""})


def _resumed(request: Any, headers: dict[bytes, bytes]) -> Any:
    """A stream always follows; a client that comes back says where it was."""
    last = headers.get(b"last-event-id", b"").decode("latin-1").strip()
    if last and not (last.isascii() and last.isdigit() and len(last) <= 18):
        raise errors.Invalid("Last-Event-ID must be the id of an event.")
    since = int(last) if last else request.since
    return msgspec.structs.replace(request, since=since, follow=True)


async def _pump(items: AsyncIterator[Any], send: Send) -> None:
    """Send what comes; a comment now and then keeps the connection from looking dead."""
    following = items.__aiter__()
    waiting: asyncio.Future[Any] = asyncio.ensure_future(_next(following))
    try:
        while True:
            done, _ = await asyncio.wait({waiting}, timeout=limits.sse_ping_seconds)
            if not done:
                await send({"type": "http.response.body", "body": b": still here\n\n", "more_body": True})
                continue
            item = waiting.result()
            if item is None:
                return
            await send({"type": "http.response.body", "body": _line(item), "more_body": True})
            waiting = asyncio.ensure_future(_next(following))
    finally:
        waiting.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await waiting


async def _next(items: AsyncIterator[Any]) -> Any:
    return await anext(items, None)


async def gone(receive: Receive) -> None:
    """Until the client has closed the connection."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _line(item: Any) -> bytes:
    kind = item.kind if isinstance(item, Event) else "resync"
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (item.seq, kind.encode(), _encode(item))
