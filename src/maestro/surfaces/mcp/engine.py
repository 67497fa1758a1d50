"""All that knows the MCP SDK: the protocol itself, in every revision, for HTTP and for the pipe alike.

Nothing else imports the SDK, and this module is imported when it is first needed: it takes a second and 40 MB.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import replace
from typing import Any

import anyio
import mcp_types as types
from mcp.server.context import HandlerResult, ServerRequestContext
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated, ToolsListChanged
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from sse_starlette import sse
from starlette.types import Receive, Scope, Send

from maestro import __version__
from maestro.core import errors, limits
from maestro.domain.callers import Caller
from maestro.surfaces.mcp import resources, short
from maestro.surfaces.mcp.calls import STRUCTURED, Answer, Calls
from maestro.surfaces.mcp.lines import Line
from maestro.surfaces.mcp.listings import Listing, Listings
from maestro.surfaces.mcp.ports import Host
from maestro.surfaces.mcp.resources import Topic
from maestro.surfaces.mcp.updates import Updates, changes

LINE = "maestro.line"  # where a request's scope carries its line
_PROGRESS_STALLED_SECONDS = 5
# Read by nobody if it is the client that has gone, and by the client if it is the server that goes.
_NO_LONGER = Answer("The server is going away. Nothing is lost: call it again to go on waiting.")

Context = ServerRequestContext[Any, Any]
Ready = Callable[[str, str, Callable[[], Awaitable[None]]], None]
Write = Callable[[bytes, int | str | None], Awaitable[None]]
_pipe: contextvars.ContextVar[Line] = contextvars.ContextVar("maestro_mcp_pipe")


class _Server(Server[Any]):
    """It says that the tools may change."""

    def create_initialization_options(
        self, notification_options: NotificationOptions | None = None, *rest: Any, **more: Any
    ) -> InitializationOptions:
        told = notification_options or NotificationOptions(tools_changed=True)
        return super().create_initialization_options(told, *rest, **more)


class Engine:
    """The SDK's server, with our answers."""

    def __init__(
        self, host: Host, calls: Calls, listings: Listings, *, words: Callable[[Any], str], ready: Ready
    ) -> None:
        """`ready` is told the SDK's id of a session that is established, its revision, and how to say that its tools
        have changed."""
        self._listings = listings
        self._host = host
        self._calls = calls
        self._words = words
        self._ready = ready
        self._listening: set[ListenHandler] = set()
        self._stop = asyncio.Event()
        self._held: asyncio.Task[None] | None = None
        self._server: Server[Any] = _Server(
            "maestro",
            version=__version__,
            instructions=short.INSTRUCTIONS,
            # None of our arguments come as headers. Without this word every call would list all tools first.
            get_tool_input_schema=lambda name: None,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read_resource,
            on_subscribe_resource=self._subscribe,
            on_unsubscribe_resource=self._unsubscribe,
            on_subscriptions_listen=self._listen,
        )
        self._server.middleware[:] = [self._note]  # in place of OpenTelemetry, which costs and which nobody reads
        # We end idle sessions ourselves: what is answered without the SDK is no sign of life to it.
        self._manager = StreamableHTTPSessionManager(
            self._server, session_idle_timeout=None, max_request_body_size=limits.body_bytes_max
        )

    async def start(self) -> None:
        logging.getLogger("mcp").setLevel(logging.WARNING)  # a line for every session would drown our own
        # Else sse-starlette looks twice a second whether uvicorn stops. We end our streams ourselves.
        sse._get_shutdown_state().watcher_started = True
        begun = asyncio.get_running_loop().create_future()
        self._held = asyncio.create_task(self._hold(begun))
        await begun

    async def _hold(self, begun: asyncio.Future[None]) -> None:
        """The SDK's task group is entered and left in one task, whoever uses it meanwhile."""
        async with self._manager.run():
            begun.set_result(None)
            await self._stop.wait()
            for handler in list(self._listening):
                handler.close()

    async def stop(self) -> None:
        self._stop.set()
        if self._held is not None:
            await self._held

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One HTTP request."""
        await self._manager.handle_request(scope, receive, send)

    async def serve(self, line: Line, incoming: AsyncIterator[bytes], write: Write) -> None:
        """A message a line, over any pair of streams, until the other side has no more."""
        _pipe.set(line)
        to_server, reads = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        writes, from_server = anyio.create_memory_object_stream[SessionMessage](0)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_take_in, incoming, to_server)
            tasks.start_soon(_give_out, from_server, write)
            await self._server.run(reads, writes, self._server.create_initialization_options())
            tasks.cancel_scope.cancel()

    async def _note(self, ctx: Context, call_next: Callable[[Context], Awaitable[HandlerResult]]) -> HandlerResult:
        """Sees every message: a handshake tells us which sessions are established, and whom a pipe belongs to."""
        result = await call_next(ctx)
        if ctx.method == "notifications/initialized":
            if ctx.request is not None:
                inner = ctx.request.headers.get("mcp-session-id", "")
                self._ready(inner, ctx.protocol_version, ctx.session.send_tool_list_changed)
            else:
                with contextlib.suppress(errors.MaestroError):  # the first call will say what is wrong
                    await _line(ctx).caller(_client(ctx))
        return result

    async def _caller(self, ctx: Context) -> Caller:
        try:
            return await _line(ctx).caller(_client(ctx))
        except errors.MaestroError as error:
            raise MCPError(types.INVALID_REQUEST, self._calls.refusal(error).text) from None

    async def _list_tools(self, ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        line = _line(ctx)
        listed, caller = await short.listed_tools(lambda: line.caller(_client(ctx)))
        line.listed(caller)
        return types.ListToolsResult(tools=[types.Tool.model_validate(tool) for tool in listed])

    async def _call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        line, client = _line(ctx), _client(ctx)
        arguments = params.arguments or {}
        order = line.order(ctx.request_id, params.name, arguments, client)
        order = replace(order, structured=(params.meta or {}).get(STRUCTURED) is True)
        try:
            caller = await line.caller(client)
        except errors.MaestroError as error:
            return _result(self._calls.refusal(error, order))
        if not self._calls.is_known(params.name, caller):
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name}")
        work = asyncio.ensure_future(self._calls.call(params.name, arguments, caller, order))
        if self._calls.waits(params.name, arguments, caller):
            answer = await self._patiently(ctx, line, work)
        else:
            answer = await asyncio.shield(work)  # what is begun is finished, whoever hangs up
        if answer.receipt:
            line.shown(ctx.request_id, answer.receipt, caller)
        return _result(answer)

    async def _patiently(self, ctx: Context, line: Line, work: asyncio.Future[Answer]) -> Answer:
        """A wait: told every so often that it goes on, and over when its client is gone."""
        loop = asyncio.get_running_loop()
        gone = loop.create_task(line.gone.wait()) if line.gone is not None else loop.create_future()
        told = 0
        try:
            while True:
                await asyncio.wait(
                    {work, gone}, timeout=limits.mcp_progress_seconds, return_when=asyncio.FIRST_COMPLETED
                )
                if work.done():
                    return work.result()
                if gone.done():
                    return _NO_LONGER
                told += 1
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_PROGRESS_STALLED_SECONDS):
                        await ctx.session.report_progress(told, message="still waiting")
        finally:
            work.cancel()
            gone.cancel()

    async def _list_resources(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        # The same for everyone. Gemini takes an error here for one of the whole server, and shows none of its tools.
        found = [types.Resource.model_validate(one) for one in short.listed_resources()]
        return types.ListResourcesResult(resources=found)

    async def _list_templates(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        found = [types.ResourceTemplate.model_validate(one) for one in short.listed_templates()]
        return types.ListResourceTemplatesResult(resource_templates=found)

    async def _read_resource(self, ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        caller, uri = await self._caller(ctx), str(params.uri)
        with self._refusing(uri):
            text = await resources.read(self._host, uri, caller, self._words)
        found = types.TextResourceContents(uri=uri, text=text, mime_type=resources.MIME)
        return types.ReadResourceResult(contents=[found])

    async def _subscribe(self, ctx: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
        line, caller, uri = _line(ctx), await self._caller(ctx), str(params.uri)
        with self._refusing(uri):
            topic = await resources.topic(self._host, uri, caller)
        if line.updates is None:
            line.updates = Updates(self._host, caller, stalled=line.end)
        line.updates.watch(topic, ctx.session.send_resource_updated)
        return types.EmptyResult()

    async def _unsubscribe(self, ctx: Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        updates = _line(ctx).updates
        if updates is not None:
            updates.unwatch(str(params.uri))
        return types.EmptyResult()

    async def _listen(
        self, ctx: Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Of 2026-07-28: the answer is the stream. The same address is another inbox for another caller, so each
        stream has a bus of its own."""
        caller = await self._caller(ctx)
        wanted: dict[str, Topic] = {}
        for uri in map(str, params.notifications.resource_subscriptions or ()):
            with self._refusing(uri):
                wanted[uri] = await resources.topic(self._host, uri, caller)
        bus = InMemorySubscriptionBus()
        handler = ListenHandler(bus)
        self._listening.add(handler)
        listing = Listing(lambda: self._host.anew(caller), lambda: bus.publish(ToolsListChanged()))
        listing.told(caller)
        with self._host.listen(caller) as listener, self._listings.keep(listing):
            pump = asyncio.create_task(_publish(bus, changes(self._host, caller, listener, wanted)))
            try:
                return await handler(ctx, params)
            finally:
                pump.cancel()
                self._listening.discard(handler)

    @contextlib.contextmanager
    def _refusing(self, uri: str) -> Iterator[None]:
        try:
            yield
        except errors.MaestroError as error:
            raise MCPError(types.INVALID_PARAMS, self._calls.refusal(error).text, {"uri": uri}) from None


def _line(ctx: Context) -> Line:
    line: Line = ctx.request.scope[LINE] if ctx.request is not None else _pipe.get()
    return line


def _client(ctx: Context) -> str:
    """What the client calls itself."""
    params = ctx.session.client_params
    return params.client_info.name if params is not None else ""


def _result(answer: Answer) -> types.CallToolResult:
    content: list[types.ContentBlock] = [types.TextContent(text=answer.text)]
    return types.CallToolResult(content=content, is_error=answer.is_error, structured_content=answer.data)


async def _publish(bus: InMemorySubscriptionBus, uris: AsyncIterator[str]) -> None:
    async for uri in uris:
        await bus.publish(ResourceUpdated(uri=uri))


async def _take_in(
    incoming: AsyncIterator[bytes], to_server: anyio.abc.ObjectSendStream[SessionMessage | Exception]
) -> None:
    async with to_server:
        async for line in incoming:
            if not line.strip():
                continue
            try:
                message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValueError as error:
                await to_server.send(error)
                continue
            await to_server.send(SessionMessage(message))


async def _give_out(from_server: anyio.abc.ObjectReceiveStream[SessionMessage], write: Write) -> None:
    async with from_server:
        async for sent in from_server:
            message = sent.message
            answered = getattr(message, "id", None) if not hasattr(message, "method") else None
            await write(message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n", answered)
