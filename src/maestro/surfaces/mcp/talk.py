"""The MCP session over one pipe of `maestro mcp`: answer on the fast path, or pass messages on to the SDK.

The SDK starts with the first message that needs the SDK, and gets the client's handshake first.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Mapping
from typing import Any, Protocol

import msgspec

from maestro.core import errors, limits
from maestro.domain.callers import Caller
from maestro.domain.messages import Step
from maestro.surfaces.mcp import requests, short
from maestro.surfaces.mcp.calls import Order
from maestro.surfaces.mcp.handing import confirm
from maestro.surfaces.mcp.lazy import LazyEngine
from maestro.surfaces.mcp.lines import Line
from maestro.surfaces.mcp.listings import Listing
from maestro.surfaces.mcp.ports import Host
from maestro.surfaces.mcp.requests import INITIALIZED, Hello, Message
from maestro.surfaces.mcp.short import Short

_QUEUED_MAX = 16
_TOOLS_CHANGED = b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n'


class Pipe(Protocol):
    """The client of one `maestro mcp`."""

    def pieces(self) -> AsyncIterator[bytes]:
        """Return the input as it arrives. An empty piece confirms all output before the last mark."""

    async def out(self, data: str | bytes) -> None: ...

    async def mark(self) -> None:
        """Ask the client to confirm all output so far."""

    async def flush(self) -> None: ...


class PipedLine(Line, Protocol):
    """The connection of a pipe, as the engine sees it."""

    receipts: dict[int | str, tuple[str, Caller]]  # by request, for answers that show mail
    listing: Listing | None


class Talk:
    """The messages of one pipe, and its answers with mail that the client has not confirmed."""

    def __init__(self, host: Host, pipe: Pipe, line: PipedLine, short_way: Short, engine: LazyEngine) -> None:
        self._host = host
        self._pipe = pipe
        self._connection = line
        self._short = short_way
        self._engine = engine
        self._unconfirmed: deque[tuple[str, Caller]] = deque()
        self._initialize_line: bytes = b""
        self._client = ""
        self._initialized_line: bytes = b""
        self._queue: asyncio.Queue[bytes | None] = asyncio.Queue(_QUEUED_MAX)
        self._sdk_task: asyncio.Task[None] | None = None
        self._sdk_requests: set[int | str] = set()  # requests that the SDK has not answered
        # The id of `initialize` that the fast path has answered: the SDK's second answer is dropped.
        self._repeated_greeting_id: int | str | None = None

    async def run(self) -> None:
        """Serve the pipe until its input ends."""
        try:
            async for line in self._read_lines():
                if line.strip() and not await self._answer_fast(line):
                    await self._pass_to_sdk(line)
            if self._sdk_task is not None:
                await self._queue_line(None)
                await self._sdk_task
        finally:
            if self._sdk_task is not None:
                self._sdk_task.cancel()

    async def tools_changed(self) -> None:
        """Notify the client of changed tools. A client without a handshake is notified by its subscription."""
        if self._initialized_line:
            await self.write(_TOOLS_CHANGED, None)

    async def _read_lines(self) -> AsyncIterator[bytes]:
        rest = b""
        async for piece in self._pipe.pieces():
            if not piece:
                await self._confirm_read()
                continue
            *lines, rest = (rest + piece).split(b"\n")
            if len(rest) > limits.mcp_line_bytes_max:
                return  # an honest client sends no message of this size
            for line in lines:
                yield line

    async def _answer_fast(self, line: bytes) -> bool:
        """Answer without the SDK, if possible. Return whether the message is handled."""
        message = requests.message_of(line)
        if message is None:
            return False
        if message.id is msgspec.UNSET:
            return await self._note_notification(message, line)
        if message.id in self._sdk_requests:
            return False
        if message.method == "initialize":
            return await self._answer_initialize(message, line)
        modern = not self._initialize_line
        if not (modern or self._initialized_line):
            return False
        result = await self._fast_result(message, modern=modern)
        if result is None:
            return False
        if result.caller is not None and message.method == "tools/list" and self._connection.listing is not None:
            self._connection.listing.told(result.caller)
        if result.receipt and result.caller is not None:
            self._connection.shown(message.id, result.receipt, result.caller)
        await self.write(short.reply(message, result.body) + b"\n", message.id)
        return True

    async def _fast_result(self, message: Message, *, modern: bool) -> short.Result | None:
        client = requests.client_in(message) if modern else self._client

        def call_options(name: str, arguments: Mapping[str, Any]) -> Order:
            request_id = None if message.id is msgspec.UNSET else message.id
            return self._connection.order(request_id, name, arguments, client)

        answering = self._short.result(message, lambda: self._connection.caller(client), call_options, modern=modern)
        return await asyncio.shield(
            asyncio.ensure_future(answering)
        )  # a call is finished also if the client hangs up

    async def _answer_initialize(self, message: Message, line: bytes) -> bool:
        """Answer the client's `initialize`. Return False if the SDK must answer."""
        hello = requests.params_of(message, Hello) if not self._initialize_line and self._sdk_task is None else None
        if hello is None:
            return False
        self._initialize_line, self._client = line, hello.client_info.name
        self._repeated_greeting_id = message.id if message.id is not msgspec.UNSET else None
        await self.write(short.reply(message, short.greeting(hello)) + b"\n", None)
        return True

    async def _note_notification(self, message: Message, line: bytes) -> bool:
        """Handle a notification. Return False if the SDK must get the notification too."""
        if message.method == INITIALIZED and self._initialize_line:
            self._initialized_line = line
            if self._sdk_task is None:
                with contextlib.suppress(errors.MaestroError):  # the first call reports the error
                    await self._connection.caller(self._client)
        return self._sdk_task is None

    async def _pass_to_sdk(self, line: bytes) -> None:
        """Pass a message to the SDK. The first message starts the SDK with the client's handshake."""
        if self._sdk_task is None:
            self._sdk_task = asyncio.create_task(self._serve_with_sdk())
            for handshake_line in filter(None, (self._initialize_line, self._initialized_line)):
                await self._queue_line(handshake_line)
        message = requests.message_of(line)
        if message is not None and message.id is not msgspec.UNSET:
            self._sdk_requests.add(message.id)
        await self._queue_line(line)

    async def _serve_with_sdk(self) -> None:
        engine = await self._engine.get()
        await engine.serve(self._connection, self._queued_lines(), self.write)

    async def _queued_lines(self) -> AsyncIterator[bytes]:
        while (line := await self._queue.get()) is not None:
            yield line

    async def _queue_line(self, line: bytes | None) -> None:
        assert self._sdk_task is not None
        queueing = asyncio.ensure_future(self._queue.put(line))
        await asyncio.wait({queueing, self._sdk_task}, return_when=asyncio.FIRST_COMPLETED)
        if not queueing.done():
            queueing.cancel()
            await self._sdk_task  # raises the error of the SDK task
            raise asyncio.CancelledError

    async def write(self, data: bytes, answered: int | str | None) -> None:
        """Write a message to the client, and confirm the mail that the message shows as delivered."""
        if answered is not None and answered == self._repeated_greeting_id and self._sdk_task is not None:
            self._repeated_greeting_id = None
            return
        if answered is not None:
            self._sdk_requests.discard(answered)
        shown = self._connection.receipts.pop(answered, None) if answered is not None else None
        with contextlib.suppress(OSError):  # the client has left; the end of its input ends the session
            await self._pipe.out(data)
            if shown is not None:
                self._unconfirmed.append(shown)
                await self._pipe.mark()
            await self._pipe.flush()
        if shown is not None:
            await confirm(self._host, *shown, Step.DELIVERED)

    async def _confirm_read(self) -> None:
        """Confirm mail as read: the relay has written out the answer that showed the mail."""
        if self._unconfirmed:
            receipt, caller = self._unconfirmed.popleft()
            await confirm(self._host, receipt, caller, Step.READ)
