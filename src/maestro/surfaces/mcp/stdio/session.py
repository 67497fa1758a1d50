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
from maestro.domain.messages import ReceiptStep
from maestro.surfaces.mcp.fast_path import messages, results
from maestro.surfaces.mcp.fast_path.messages import INITIALIZED, InitializeParams, RpcMessage
from maestro.surfaces.mcp.fast_path.results import FastPath
from maestro.surfaces.mcp.ports import Host
from maestro.surfaces.mcp.sdk.connection import McpConnection
from maestro.surfaces.mcp.sdk.lazy_engine import LazyEngine
from maestro.surfaces.mcp.tools.calls import CallOptions
from maestro.surfaces.mcp.tools.receipts import confirm_receipt
from maestro.surfaces.mcp.tools.tool_list_watch import WatchedToolList

_QUEUED_MAX = 16
_TOOLS_CHANGED = b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n'


class McpPipe(Protocol):
    """The client of one `maestro mcp`."""

    def input_pieces(self) -> AsyncIterator[bytes]:
        """Return the input as it arrives. An empty piece confirms all output before the last mark."""

    async def write_out(self, data: str | bytes) -> None: ...

    async def mark_output(self) -> None:
        """Ask the client to confirm all output so far."""

    async def flush(self) -> None: ...


class PipedConnection(McpConnection, Protocol):
    """The connection of a pipe, as the engine sees it."""

    receipts: dict[int | str, tuple[str, Caller]]  # by request, for answers that show mail
    tool_list: WatchedToolList | None


class StdioSession:
    """The messages of one pipe, and its answers with mail that the client has not confirmed."""

    def __init__(
        self, host: Host, pipe: McpPipe, connection: PipedConnection, fast_path: FastPath, engine: LazyEngine
    ) -> None:
        self._host = host
        self._pipe = pipe
        self._connection = connection
        self._fast_path = fast_path
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

    async def serve_pipe(self) -> None:
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

    async def notify_tools_changed(self) -> None:
        """Notify the client of changed tools. A client without a handshake is notified by its subscription."""
        if self._initialized_line:
            await self.write_message(_TOOLS_CHANGED, None)

    async def _read_lines(self) -> AsyncIterator[bytes]:
        rest = b""
        async for piece in self._pipe.input_pieces():
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
        message = messages.decode_message(line)
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
        if result.caller is not None and message.method == "tools/list" and self._connection.tool_list is not None:
            self._connection.tool_list.note_listed_tools(result.caller)
        if result.receipt and result.caller is not None:
            self._connection.note_shown_mail(message.id, result.receipt, result.caller)
        await self.write_message(results.encode_reply(message, result.body) + b"\n", message.id)
        return True

    async def _fast_result(self, message: RpcMessage, *, modern: bool) -> results.FastResult | None:
        client = messages.client_in_request(message) if modern else self._client

        def call_options(name: str, arguments: Mapping[str, Any]) -> CallOptions:
            request_id = None if message.id is msgspec.UNSET else message.id
            return self._connection.call_options(request_id, name, arguments, client)

        answering = self._fast_path.find_result(
            message, lambda: self._connection.identify_caller(client), call_options, modern=modern
        )
        # A call is finished also if the client hangs up.
        return await asyncio.shield(asyncio.ensure_future(answering))

    async def _answer_initialize(self, message: RpcMessage, line: bytes) -> bool:
        """Answer the client's `initialize`. Return False if the SDK must answer."""
        hello = (
            messages.decode_params(message, InitializeParams)
            if not self._initialize_line and self._sdk_task is None
            else None
        )
        if hello is None:
            return False
        self._initialize_line, self._client = line, hello.client_info.name
        self._repeated_greeting_id = message.id if message.id is not msgspec.UNSET else None
        await self.write_message(results.encode_reply(message, results.initialize_result(hello)) + b"\n", None)
        return True

    async def _note_notification(self, message: RpcMessage, line: bytes) -> bool:
        """Handle a notification. Return False if the SDK must get the notification too."""
        if message.method == INITIALIZED and self._initialize_line:
            self._initialized_line = line
            if self._sdk_task is None:
                with contextlib.suppress(errors.MaestroError):  # the first call reports the error
                    await self._connection.identify_caller(self._client)
        return self._sdk_task is None

    async def _pass_to_sdk(self, line: bytes) -> None:
        """Pass a message to the SDK. The first message starts the SDK with the client's handshake."""
        if self._sdk_task is None:
            self._sdk_task = asyncio.create_task(self._serve_with_sdk())
            for handshake_line in filter(None, (self._initialize_line, self._initialized_line)):
                await self._queue_line(handshake_line)
        message = messages.decode_message(line)
        if message is not None and message.id is not msgspec.UNSET:
            self._sdk_requests.add(message.id)
        await self._queue_line(line)

    async def _serve_with_sdk(self) -> None:
        engine = await self._engine.load_engine()
        await engine.serve_pipe(self._connection, self._queued_lines(), self.write_message)

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

    async def write_message(self, data: bytes, answered_id: int | str | None) -> None:
        """Write a message to the client, and confirm the mail that the message shows as delivered."""
        if answered_id is not None and answered_id == self._repeated_greeting_id and self._sdk_task is not None:
            self._repeated_greeting_id = None
            return
        if answered_id is not None:
            self._sdk_requests.discard(answered_id)
        shown = self._connection.receipts.pop(answered_id, None) if answered_id is not None else None
        with contextlib.suppress(OSError):  # the client has left; the end of its input ends the session
            await self._pipe.write_out(data)
            if shown is not None:
                self._unconfirmed.append(shown)
                await self._pipe.mark_output()
            await self._pipe.flush()
        if shown is not None:
            await confirm_receipt(self._host, *shown, ReceiptStep.DELIVERED)

    async def _confirm_read(self) -> None:
        """Confirm mail as read: the relay has written out the answer that showed the mail."""
        if self._unconfirmed:
            receipt, caller = self._unconfirmed.popleft()
            await confirm_receipt(self._host, receipt, caller, ReceiptStep.READ)
