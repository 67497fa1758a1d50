"""The talk over one pipe of `maestro mcp`: what is answered at once, and what goes on to the SDK.

The SDK hears of a client when it is first needed for it, and is then told how the client introduced itself.
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
_CHANGED = b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n'


class Pipe(Protocol):
    """The client of one `maestro mcp`."""

    def pieces(self) -> AsyncIterator[bytes]:
        """Its input as it comes; an empty piece says that all output before the last mark is out."""

    async def out(self, data: str | bytes) -> None: ...

    async def mark(self) -> None:
        """Ask to be told once all output so far is out."""

    async def flush(self) -> None: ...


class PipedLine(Line, Protocol):
    """A pipe, as the engine sees it."""

    receipts: dict[int | str, tuple[str, Caller]]  # of answers that show mail
    listing: Listing | None


class Talk:
    """The lines of one pipe, and which answers with mail are out."""

    def __init__(self, host: Host, pipe: Pipe, line: PipedLine, short_way: Short, engine: LazyEngine) -> None:
        self._host = host
        self._pipe = pipe
        self._line = line
        self._short = short_way
        self._engine = engine
        self._marked: deque[tuple[str, Caller]] = deque()
        self._hello: bytes = b""
        self._client = ""
        self._ready: bytes = b""
        self._queue: asyncio.Queue[bytes | None] = asyncio.Queue(_QUEUED_MAX)
        self._serving: asyncio.Task[None] | None = None
        self._open: set[int | str] = set()  # requests that the SDK has not answered yet
        self._unheard: int | str | None = None  # its answer to a greeting that the client has had already

    async def run(self) -> None:
        """Until its input ends."""
        try:
            async for line in self._lines():
                if line.strip() and not await self._answered(line):
                    await self._pass_on(line)
            if self._serving is not None:
                await self._put(None)
                await self._serving
        finally:
            if self._serving is not None:
                self._serving.cancel()

    async def tools_changed(self) -> None:
        """The client's tools are not what they were. Clients without a handshake hear of it where they listen."""
        if self._ready:
            await self.write(_CHANGED, None)

    async def _lines(self) -> AsyncIterator[bytes]:
        rest = b""
        async for piece in self._pipe.pieces():
            if not piece:
                await self._is_out()
                continue
            *whole, rest = (rest + piece).split(b"\n")
            if len(rest) > limits.mcp_line_bytes_max:
                return  # nobody sends such a message in good faith
            for one in whole:
                yield one

    async def _answered(self, line: bytes) -> bool:
        """The short way."""
        message = requests.message_of(line)
        if message is None:
            return False
        if message.id is msgspec.UNSET:
            return await self._noted(message, line)
        if message.id in self._open:
            return False
        if message.method == "initialize":
            return await self._greeted(message, line)
        modern = not self._hello
        if not (modern or self._ready):
            return False
        result = await self._result(message, modern=modern)
        if result is None:
            return False
        if result.caller is not None and message.method == "tools/list" and self._line.listing is not None:
            self._line.listing.told(result.caller)
        if result.receipt and result.caller is not None:
            self._line.shown(message.id, result.receipt, result.caller)
        await self.write(short.reply(message, result.body) + b"\n", message.id)
        return True

    async def _result(self, message: Message, *, modern: bool) -> short.Result | None:
        client = requests.client_in(message) if modern else self._client

        def how(name: str, arguments: Mapping[str, Any]) -> Order:
            request_id = None if message.id is msgspec.UNSET else message.id
            return self._line.order(request_id, name, arguments, client)

        found = self._short.result(message, lambda: self._line.caller(client), how, modern=modern)
        return await asyncio.shield(asyncio.ensure_future(found))  # what is begun is finished, whoever hangs up

    async def _greeted(self, message: Message, line: bytes) -> bool:
        """The client introduces itself."""
        hello = requests.params_of(message, Hello) if not self._hello and self._serving is None else None
        if hello is None:
            return False
        self._hello, self._client = line, hello.client_info.name
        self._unheard = message.id if message.id is not msgspec.UNSET else None
        await self.write(short.reply(message, short.greeting(hello)) + b"\n", None)
        return True

    async def _noted(self, message: Message, line: bytes) -> bool:
        """The client says something that needs no answer. What the SDK has not heard of does not concern it."""
        if message.method == INITIALIZED and self._hello:
            self._ready = line
            if self._serving is None:
                with contextlib.suppress(errors.MaestroError):  # the first call will say what is wrong
                    await self._line.caller(self._client)
        return self._serving is None

    async def _pass_on(self, line: bytes) -> None:
        """To the SDK."""
        if self._serving is None:
            self._serving = asyncio.create_task(self._long_way())
            for known in filter(None, (self._hello, self._ready)):
                await self._put(known)
        message = requests.message_of(line)
        if message is not None and message.id is not msgspec.UNSET:
            self._open.add(message.id)
        await self._put(line)

    async def _long_way(self) -> None:
        engine = await self._engine.get()
        await engine.serve(self._line, self._incoming(), self.write)

    async def _incoming(self) -> AsyncIterator[bytes]:
        while (line := await self._queue.get()) is not None:
            yield line

    async def _put(self, line: bytes | None) -> None:
        assert self._serving is not None
        putting = asyncio.ensure_future(self._queue.put(line))
        await asyncio.wait({putting, self._serving}, return_when=asyncio.FIRST_COMPLETED)
        if not putting.done():
            putting.cancel()
            await self._serving  # it has failed, and says why
            raise asyncio.CancelledError

    async def write(self, data: bytes, answered: int | str | None) -> None:
        if answered is not None and answered == self._unheard and self._serving is not None:
            self._unheard = None
            return
        if answered is not None:
            self._open.discard(answered)
        shown = self._line.receipts.pop(answered, None) if answered is not None else None
        with contextlib.suppress(OSError):  # it has gone: that its input ends says so too
            await self._pipe.out(data)
            if shown is not None:
                self._marked.append(shown)
                await self._pipe.mark()
            await self._pipe.flush()
        if shown is not None:
            await confirm(self._host, *shown, Step.DELIVERED)

    async def _is_out(self) -> None:
        """The relay has written out an answer that showed mail."""
        if self._marked:
            receipt, caller = self._marked.popleft()
            await confirm(self._host, receipt, caller, Step.READ)
