"""The endpoint at /mcp. Finds the caller and the session, and answers on the fast path or through the SDK.

Must not import the SDK.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.types import Message as Asgi
from starlette.types import Receive, Scope, Send

from maestro.core import errors
from maestro.domain.callers import Caller
from maestro.surfaces import asgi
from maestro.surfaces.mcp.fast_path import messages, results
from maestro.surfaces.mcp.fast_path.messages import INITIALIZED, InitializeParams
from maestro.surfaces.mcp.fast_path.results import FastPath
from maestro.surfaces.mcp.http.headers import SESSION_HEADER, VERSION_HEADER, Headers, find_header, replace_header
from maestro.surfaces.mcp.http.receipts import MailReceipts
from maestro.surfaces.mcp.http.request import McpExchange
from maestro.surfaces.mcp.http.sdk_connection import AnswerRelay, HttpConnection, record_shown_mail
from maestro.surfaces.mcp.http.sessions import ProtocolSessions
from maestro.surfaces.mcp.ports import Host
from maestro.surfaces.mcp.sdk.connection import CONNECTION_KEY
from maestro.surfaces.mcp.sdk.lazy_engine import LazyEngine
from maestro.surfaces.mcp.tools.calls import CallOptions, ToolCalls
from maestro.surfaces.mcp.tools.tool_list_watch import ToolListWatch

if TYPE_CHECKING:
    from maestro.surfaces.mcp.sdk.engine import Engine

_encode = msgspec.json.Encoder().encode
_LAST_ANSWER_SECONDS = 0.5
_STREAM_DELAY_SECONDS = 1.0
_CALLERS_KEPT_MAX = 10_000
_SESSION_NOT_FOUND = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Session not found"}}'
_DEFAULT_OPTIONS = CallOptions()


class McpEndpoint:
    """The MCP surface over HTTP."""

    def __init__(
        self,
        host: Host,
        calls: ToolCalls,
        *,
        guard: Callable[[Iterable[tuple[bytes, bytes]]], None],
        render_answer: Callable[[Any], str],
    ) -> None:
        def make_engine(module: Any) -> Engine:
            engine: Engine = module.Engine(
                host, calls, self.tool_lists, render_answer=render_answer, ready=self.sessions.mark_ready
            )
            return engine

        self.engine = LazyEngine(make_engine)
        self.fast_path = FastPath(calls)
        self.tool_lists = ToolListWatch()
        self.sessions = ProtocolSessions(host, self.engine, self.tool_lists)
        self._host = host
        self._guard = guard
        # For requests without an MCP session (2026-07-28).
        self._receipts_by_caller: dict[str, MailReceipts] = {}
        self._open_connections: set[HttpConnection] = set()

    async def stop(self) -> None:
        """End every stream and every wait. A wait still gets an answer."""
        for connection in self._open_connections:
            connection.client_gone.set()
        unfinished = [
            asyncio.create_task(connection.is_finished.wait())
            for connection in self._open_connections
            if connection.is_answering
        ]
        if unfinished:
            _, late = await asyncio.wait(unfinished, timeout=_LAST_ANSWER_SECONDS)
            for task in late:
                task.cancel()
        self.sessions.stop()
        await self.engine.stop()

    def hang_up_on_session(self, session_id: str) -> None:
        """Hang up on the clients of an ended Maestro session: its token is no longer valid."""
        self.sessions.hang_up_matching(lambda session: session.caller.session_id == session_id)
        self._receipts_by_caller.pop(session_id, None)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request. Turn the errors of Maestro into answers."""
        headers: dict[bytes, bytes] = dict(scope["headers"])
        try:
            self._guard(scope["headers"])
            caller = await self._identify_caller(headers)
            asgi.mark_identified(scope)
            await self._serve_request(scope, receive, send, headers, caller)
        except errors.NotAuthenticated as error:
            await asgi.send_answer(send, 401, _encode(error.as_dict()), (b"www-authenticate", b"Bearer"))
        except errors.NotPermitted as error:
            await asgi.send_answer(send, 403, _encode(error.as_dict()))
        except errors.TooLarge as error:
            await asgi.send_answer(send, 413, _encode(error.as_dict()))
        except errors.MaestroError as error:
            await asgi.send_answer(send, 400, _encode(error.as_dict()))

    async def _serve_request(
        self, scope: Scope, receive: Receive, send: Send, headers: Headers, caller: Caller
    ) -> None:
        session_id = headers.get(SESSION_HEADER, b"").decode("latin-1")
        if session_id and self.sessions.belongs_to_another(session_id, caller):
            return await asgi.send_answer(send, 404, _SESSION_NOT_FOUND)
        version = headers.get(VERSION_HEADER, b"").decode("latin-1")
        session = self.sessions.find_session(session_id, caller, version) if session_id else None
        receipts = session.receipts if session is not None else self._receipts_of(caller)
        exchange = McpExchange(scope, receive, send, headers, caller, session, receipts)
        if session is not None:
            session.caller = caller
            session.touch()
        if exchange.method == "POST":
            body = await asgi.read_body(receive)
            if body is None:
                return None
            exchange.body = body
            cancelled_id = messages.find_cancelled_id(body)
            if cancelled_id != "":
                receipts.forget_request(cancelled_id)
            await receipts.confirm_read_mail(caller, exchange.connection)
            if await self._answer_fast(exchange):
                return None
            exchange.receive = asgi.replay_body(body, receive)
        elif session is not None and not session.sdk_id and exchange.method == "DELETE":
            self.sessions.end_session(session)
            return await exchange.send_answer(200, b"")
        return await self._answer_with_sdk(exchange)

    async def _answer_fast(self, exchange: McpExchange) -> bool:
        """Answer without the SDK, if possible. Return whether the request has its answer."""
        message = messages.decode_message(exchange.body)
        if message is None:
            return False
        session = exchange.session
        if message.id is msgspec.UNSET:
            return await self._note_initialized(exchange, message)
        if message.method == "initialize":
            return await self._answer_initialize(exchange, message)
        modern = exchange.is_modern(message)
        if not (modern or exchange.is_established()):
            return False
        if modern and not _names_tool(exchange.headers, message):
            return False
        if session is None:
            result = await self._fast_result(exchange, message, modern=modern)
        elif message.id in session.fast_request_ids:
            return False
        else:
            session.fast_request_ids.add(message.id)
            try:
                result = await self._fast_result(exchange, message, modern=modern)
            finally:
                session.fast_request_ids.discard(message.id)
        if result is None:
            return False
        if message.method == "tools/list" and session is not None and session.tool_list is not None:
            session.tool_list.note_listed_tools(exchange.caller)
        body = results.encode_reply(message, result.body)
        if result.receipt:
            await exchange.send_mail_answer(body, result.receipt, message.id)
        else:
            await exchange.send_answer(200, body)
        return True

    async def _fast_result(
        self, exchange: McpExchange, message: messages.RpcMessage, *, modern: bool
    ) -> results.FastResult | None:
        async def identify() -> Caller:
            return exchange.caller

        return await self.fast_path.find_result(
            message, identify, lambda name, arguments: _DEFAULT_OPTIONS, modern=modern
        )

    async def _answer_initialize(self, exchange: McpExchange, message: messages.RpcMessage) -> bool:
        """Answer a client's `initialize` and start a session. Return False if the SDK must answer."""
        hello = messages.decode_params(message, InitializeParams) if exchange.may_initialize() else None
        if hello is None:
            return False
        exchange.session = self.sessions.start_session(hello, message.params, exchange.caller)
        await exchange.send_answer(200, results.encode_reply(message, results.initialize_result(hello)))
        return True

    async def _note_initialized(self, exchange: McpExchange, message: messages.RpcMessage) -> bool:
        """Note that the client finished its handshake. The SDK learns this later, with the session."""
        session = exchange.session
        if session is None or session.sdk_id or session.introduction_lock.locked() or message.method != INITIALIZED:
            return False
        if exchange.headers.get(VERSION_HEADER, session.version) != session.version:
            return False
        session.is_ready = True
        await exchange.send_answer(202, b"")
        return True

    async def _answer_with_sdk(self, exchange: McpExchange) -> None:
        """Let the SDK answer a request, under the SDK's session id."""
        session = exchange.session
        connection = HttpConnection(
            exchange.caller, exchange.headers, session, hang_up=lambda: self.sessions.hang_up(session)
        )
        connection.is_answering = exchange.method == "POST"
        self._open_connections.add(connection)
        if session is not None:
            session.open_requests += 1
            session.has_listened |= exchange.method == "GET"
        try:
            await self._pass_to_sdk(exchange, connection)
        finally:
            connection.client_gone.set()
            connection.is_finished.set()
            self._open_connections.discard(connection)
            if session is not None:
                session.open_requests -= 1
                session.touch()

    async def _pass_to_sdk(self, exchange: McpExchange, connection: HttpConnection) -> None:
        session = exchange.session
        if exchange.method == "GET" and not self.engine.is_loaded:
            # A stream has no notifications at first: do not load the SDK before the client's first calls.
            await asyncio.sleep(_STREAM_DELAY_SECONDS)
        engine = await self.engine.load_engine()
        scope = dict(exchange.scope) | {CONNECTION_KEY: connection}
        if session is not None:
            if not await self.sessions.introduce_to_sdk(session):
                return await asgi.send_answer(exchange.send, 404, _SESSION_NOT_FOUND)
            scope["headers"] = replace_header(scope["headers"], SESSION_HEADER, session.sdk_id)
            if exchange.method == "DELETE":
                self.sessions.end_session(session)
        relay = AnswerRelay(
            exchange.receive, exchange.send, rename_session=lambda message: self._rename_session(message, exchange)
        )
        relay.before_body = lambda: record_shown_mail(connection, exchange.caller, scope, exchange.receipts)
        listens = session is not None and exchange.method == "GET"
        with self.sessions.count_stream(session) if listens and session is not None else contextlib.nullcontext():
            await engine.handle_request(scope, relay.receive, relay.send)
        if relay.shown is not None:
            await exchange.receipts.finish_answer(relay.shown, is_sent=not relay.is_broken)
        return None

    def _rename_session(self, message: Asgi, exchange: McpExchange) -> Asgi:
        """Return the SDK's answer with the session id of the client. A new session gets an id."""
        sdk_id = find_header(message, SESSION_HEADER)
        if not sdk_id:
            return message
        if exchange.session is None and message["status"] < 300:
            exchange.session = self.sessions.add_sdk_session(
                sdk_id, messages.client_in_initialize(exchange.body), exchange.caller
            )
        client_id = exchange.session.client_id if exchange.session is not None else sdk_id
        return {**message, "headers": replace_header(message["headers"], SESSION_HEADER, client_id)}

    def _receipts_of(self, caller: Caller) -> MailReceipts:
        if len(self._receipts_by_caller) >= _CALLERS_KEPT_MAX:
            self._receipts_by_caller.clear()  # their mail stays delivered, and is offered again
        return self._receipts_by_caller.setdefault(caller.name, MailReceipts(self._host))

    async def _identify_caller(self, headers: Headers) -> Caller:
        token = asgi.read_bearer_token(headers)
        if not token:
            raise errors.NotAuthenticated(hint="Send the token as `Authorization: Bearer …`; see docs/mcp.md.")
        return await self._host.identify(token=token, peer=None)


def _names_tool(headers: Headers, message: messages.RpcMessage) -> bool:
    """Return whether the header `mcp-name` agrees with the call."""
    if message.method != "tools/call":
        return b"mcp-name" not in headers
    call = messages.decode_params(message, messages.ToolCallParams)
    return call is not None and headers.get(b"mcp-name") == call.name.encode()
