"""The MCP protocol in every revision, by means of the SDK, for HTTP and for the pipe.

Only this module imports the SDK. `lazy_engine.py` imports the module when a client first needs the SDK, because the
import takes a second and 40 MB.
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
from maestro.surfaces.mcp.fast_path import results
from maestro.surfaces.mcp.ports import Host
from maestro.surfaces.mcp.sdk.connection import CONNECTION_KEY, McpConnection
from maestro.surfaces.mcp.tools import resources
from maestro.surfaces.mcp.tools.calls import STRUCTURED, ToolAnswer, ToolCalls
from maestro.surfaces.mcp.tools.resource_updates import ResourceUpdates, changed_uris
from maestro.surfaces.mcp.tools.resources import WatchedResource
from maestro.surfaces.mcp.tools.tool_list_watch import ToolListWatch, WatchedToolList

_PROGRESS_STALLED_SECONDS = 5
# The client reads this answer when the server stops. After the end of a client the answer is lost.
_STOPPED_WAIT = ToolAnswer("The server stops. Nothing is lost. Call again to continue the wait.")

RequestContext = ServerRequestContext[Any, Any]
MarkReady = Callable[[str, str, Callable[[], Awaitable[None]]], None]
WriteMessage = Callable[[bytes, int | str | None], Awaitable[None]]
_pipe_connection: contextvars.ContextVar[McpConnection] = contextvars.ContextVar("maestro_mcp_pipe")


class _NotifyingServer(Server[Any]):
    """A server of the SDK that announces notifications of changed tools."""

    def create_initialization_options(
        self, notification_options: NotificationOptions | None = None, *rest: Any, **more: Any
    ) -> InitializationOptions:
        options = notification_options or NotificationOptions(tools_changed=True)
        return super().create_initialization_options(options, *rest, **more)


class Engine:
    """The SDK's server, with the answers of Maestro."""

    def __init__(
        self,
        host: Host,
        calls: ToolCalls,
        tool_lists: ToolListWatch,
        *,
        render_answer: Callable[[Any], str],
        ready: MarkReady,
    ) -> None:
        """Build the server. `ready` gets the SDK's id of an initialized session, its revision, and a function that
        notifies its client of changed tools."""
        self._tool_lists = tool_lists
        self._host = host
        self._calls = calls
        self._render_answer = render_answer
        self._ready = ready
        self._listen_handlers: set[ListenHandler] = set()
        self._stop = asyncio.Event()
        self._manager_task: asyncio.Task[None] | None = None
        self._server: Server[Any] = _NotifyingServer(
            "maestro",
            version=__version__,
            instructions=results.INSTRUCTIONS,
            # No argument comes as a header. Without this function the SDK would list all tools before every call.
            get_tool_input_schema=lambda name: None,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read_resource,
            on_subscribe_resource=self._subscribe,
            on_unsubscribe_resource=self._unsubscribe,
            on_subscriptions_listen=self._serve_subscriptions,
        )
        # This middleware replaces OpenTelemetry, which costs time and has no reader.
        self._server.middleware[:] = [self._note_message]
        # Maestro ends idle sessions: the SDK does not see the requests of the fast path.
        self._manager = StreamableHTTPSessionManager(
            self._server, session_idle_timeout=None, max_request_body_size=limits.body_bytes_max
        )

    async def start(self) -> None:
        logging.getLogger("mcp").setLevel(logging.WARNING)  # the SDK logs a line for every session
        # Otherwise sse-starlette checks twice a second whether uvicorn stops. Maestro ends the streams.
        sse._get_shutdown_state().watcher_started = True
        started = asyncio.get_running_loop().create_future()
        self._manager_task = asyncio.create_task(self._run_manager(started))
        await started

    async def _run_manager(self, started: asyncio.Future[None]) -> None:
        """Run the SDK's session manager until the stop. Its task group must be entered and left in the same task."""
        async with self._manager.run():
            started.set_result(None)
            await self._stop.wait()
            for handler in list(self._listen_handlers):
                handler.close()

    async def stop(self) -> None:
        self._stop.set()
        if self._manager_task is not None:
            await self._manager_task

    async def handle_request(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the SDK answer one HTTP request."""
        await self._manager.handle_request(scope, receive, send)

    async def serve_pipe(
        self, connection: McpConnection, incoming: AsyncIterator[bytes], write: WriteMessage
    ) -> None:
        """Serve a client over a pair of streams, one message per line, until its input ends."""
        _pipe_connection.set(connection)
        to_server, reads = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        writes, from_server = anyio.create_memory_object_stream[SessionMessage](0)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_read_messages, incoming, to_server)
            tasks.start_soon(_write_messages, from_server, write)
            await self._server.run(reads, writes, self._server.create_initialization_options())
            tasks.cancel_scope.cancel()

    async def _note_message(
        self, ctx: RequestContext, call_next: Callable[[RequestContext], Awaitable[HandlerResult]]
    ) -> HandlerResult:
        """Pass every message on. After a handshake, mark the session as ready, or identify the caller of the pipe."""
        result = await call_next(ctx)
        if ctx.method == "notifications/initialized":
            if ctx.request is not None:
                inner = ctx.request.headers.get("mcp-session-id", "")
                self._ready(inner, ctx.protocol_version, ctx.session.send_tool_list_changed)
            else:
                with contextlib.suppress(errors.MaestroError):  # the first call reports the error
                    await _connection_of(ctx).identify_caller(_client_name(ctx))
        return result

    async def _identify_caller(self, ctx: RequestContext) -> Caller:
        try:
            return await _connection_of(ctx).identify_caller(_client_name(ctx))
        except errors.MaestroError as error:
            raise MCPError(types.INVALID_REQUEST, self._calls.error_answer(error).text) from None

    async def _list_tools(
        self, ctx: RequestContext, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        connection = _connection_of(ctx)
        listed, caller = await results.listed_tools(lambda: connection.identify_caller(_client_name(ctx)))
        connection.note_listed_tools(caller)
        return types.ListToolsResult(tools=[types.Tool.model_validate(tool) for tool in listed])

    async def _call_tool(self, ctx: RequestContext, params: types.CallToolRequestParams) -> types.CallToolResult:
        connection, client = _connection_of(ctx), _client_name(ctx)
        arguments = params.arguments or {}
        options = connection.call_options(ctx.request_id, params.name, arguments, client)
        options = replace(options, wants_data=(params.meta or {}).get(STRUCTURED) is True)
        try:
            caller = await connection.identify_caller(client)
        except errors.MaestroError as error:
            return _to_result(self._calls.error_answer(error, options))
        if not self._calls.has_tool(params.name, caller):
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name}")
        work = asyncio.ensure_future(self._calls.call_tool(params.name, arguments, caller, options))
        if self._calls.is_wait(params.name, arguments, caller):
            answer = await self._wait_for_answer(ctx, connection, work)
        else:
            answer = await asyncio.shield(work)  # the call is finished also if the client hangs up
        if answer.receipt:
            connection.note_shown_mail(ctx.request_id, answer.receipt, caller)
        return _to_result(answer)

    async def _wait_for_answer(
        self, ctx: RequestContext, connection: McpConnection, work: asyncio.Future[ToolAnswer]
    ) -> ToolAnswer:
        """Return the answer of a wait. Report progress at intervals; stop when the client or the server goes."""
        loop = asyncio.get_running_loop()
        gone = (
            loop.create_task(connection.client_gone.wait())
            if connection.client_gone is not None
            else loop.create_future()
        )
        reports = 0
        try:
            while True:
                await asyncio.wait(
                    {work, gone}, timeout=limits.mcp_progress_seconds, return_when=asyncio.FIRST_COMPLETED
                )
                if work.done():
                    return work.result()
                if gone.done():
                    return _STOPPED_WAIT
                reports += 1
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_PROGRESS_STALLED_SECONDS):
                        await ctx.session.report_progress(reports, message="still waiting")
        finally:
            work.cancel()
            gone.cancel()

    async def _list_resources(
        self, ctx: RequestContext, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        # The list is the same for all callers. An error here makes Gemini hide all tools of the server.
        found = [types.Resource.model_validate(resource) for resource in results.listed_resources()]
        return types.ListResourcesResult(resources=found)

    async def _list_templates(
        self, ctx: RequestContext, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        found = [types.ResourceTemplate.model_validate(resource) for resource in results.listed_templates()]
        return types.ListResourceTemplatesResult(resource_templates=found)

    async def _read_resource(
        self, ctx: RequestContext, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        caller, uri = await self._identify_caller(ctx), str(params.uri)
        with self._errors_as_refusals(uri):
            text = await resources.read_resource(self._host, uri, caller, self._render_answer)
        found = types.TextResourceContents(uri=uri, text=text, mime_type=resources.MIME_TYPE)
        return types.ReadResourceResult(contents=[found])

    async def _subscribe(self, ctx: RequestContext, params: types.SubscribeRequestParams) -> types.EmptyResult:
        connection, caller, uri = _connection_of(ctx), await self._identify_caller(ctx), str(params.uri)
        with self._errors_as_refusals(uri):
            topic = await resources.find_watched_resource(self._host, uri, caller)
        if connection.updates is None:
            connection.updates = ResourceUpdates(self._host, caller, stalled=connection.hang_up)
        connection.updates.watch_resource(topic, ctx.session.send_resource_updated)
        return types.EmptyResult()

    async def _unsubscribe(self, ctx: RequestContext, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        updates = _connection_of(ctx).updates
        if updates is not None:
            updates.unwatch_resource(str(params.uri))
        return types.EmptyResult()

    async def _serve_subscriptions(
        self, ctx: RequestContext, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Serve a subscription of 2026-07-28, whose answer is the stream.

        The same address is another inbox for another caller, so each stream has its own bus.
        """
        caller = await self._identify_caller(ctx)
        topics: dict[str, WatchedResource] = {}
        for uri in map(str, params.notifications.resource_subscriptions or ()):
            with self._errors_as_refusals(uri):
                topics[uri] = await resources.find_watched_resource(self._host, uri, caller)
        bus = InMemorySubscriptionBus()
        handler = ListenHandler(bus)
        self._listen_handlers.add(handler)
        listing = WatchedToolList(lambda: self._host.refresh_caller(caller), lambda: bus.publish(ToolsListChanged()))
        listing.note_listed_tools(caller)
        with self._host.subscribe_caller(caller) as listener, self._tool_lists.watch_list(listing):
            publisher = asyncio.create_task(_publish_updates(bus, changed_uris(self._host, caller, listener, topics)))
            try:
                return await handler(ctx, params)
            finally:
                publisher.cancel()
                self._listen_handlers.discard(handler)

    @contextlib.contextmanager
    def _errors_as_refusals(self, uri: str) -> Iterator[None]:
        """Turn an error of Maestro into an error of the protocol."""
        try:
            yield
        except errors.MaestroError as error:
            raise MCPError(types.INVALID_PARAMS, self._calls.error_answer(error).text, {"uri": uri}) from None


def _connection_of(ctx: RequestContext) -> McpConnection:
    connection: McpConnection = (
        ctx.request.scope[CONNECTION_KEY] if ctx.request is not None else _pipe_connection.get()
    )
    return connection


def _client_name(ctx: RequestContext) -> str:
    """Return the name that the client gave in its handshake, or an empty string."""
    params = ctx.session.client_params
    return params.client_info.name if params is not None else ""


def _to_result(answer: ToolAnswer) -> types.CallToolResult:
    content: list[types.ContentBlock] = [types.TextContent(text=answer.text)]
    return types.CallToolResult(content=content, is_error=answer.is_error, structured_content=answer.data)


async def _publish_updates(bus: InMemorySubscriptionBus, uris: AsyncIterator[str]) -> None:
    async for uri in uris:
        await bus.publish(ResourceUpdated(uri=uri))


async def _read_messages(
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


async def _write_messages(from_server: anyio.abc.ObjectReceiveStream[SessionMessage], write: WriteMessage) -> None:
    async with from_server:
        async for outgoing in from_server:
            message = outgoing.message
            answered_id = getattr(message, "id", None) if not hasattr(message, "method") else None
            await write(message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n", answered_id)
