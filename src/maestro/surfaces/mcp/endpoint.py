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
from maestro.surfaces import connections
from maestro.surfaces.mcp import http, requests, short
from maestro.surfaces.mcp.calls import Calls, Order
from maestro.surfaces.mcp.exchange import Exchange
from maestro.surfaces.mcp.handing import Handing
from maestro.surfaces.mcp.http_lines import HttpLine, Way, shown_by
from maestro.surfaces.mcp.lazy import LazyEngine
from maestro.surfaces.mcp.lines import CONNECTION_KEY
from maestro.surfaces.mcp.listings import Listings
from maestro.surfaces.mcp.ports import Host
from maestro.surfaces.mcp.requests import INITIALIZED, SESSION, VERSION, Headers, Hello
from maestro.surfaces.mcp.sessions import Sessions
from maestro.surfaces.mcp.short import Short

if TYPE_CHECKING:
    from maestro.surfaces.mcp.engine import Engine

_LAST_ANSWER_SECONDS = 0.5
_STREAM_DELAY_SECONDS = 1.0
_CALLERS_KEPT_MAX = 10_000
_SESSION_NOT_FOUND = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Session not found"}}'
_DEFAULT_OPTIONS = Order()


class Endpoint:
    """The MCP surface over HTTP."""

    def __init__(
        self,
        host: Host,
        calls: Calls,
        *,
        guard: Callable[[Iterable[tuple[bytes, bytes]]], None],
        words: Callable[[Any], str],
    ) -> None:
        def make_engine(module: Any) -> Engine:
            engine: Engine = module.Engine(host, calls, self.listings, render_answer=words, ready=self.sessions.ready)
            return engine

        self.engine = LazyEngine(make_engine)
        self.short = Short(calls)
        self.listings = Listings()
        self.sessions = Sessions(host, self.engine, self.listings)
        self._host = host
        self._guard = guard
        self._receipts_by_caller: dict[
            str, Handing
        ] = {}  # by caller, for requests without an MCP session (2026-07-28)
        self._open_connections: set[HttpLine] = set()

    async def stop(self) -> None:
        """End every stream and every wait. A wait still gets an answer."""
        for connection in self._open_connections:
            connection.gone.set()
        unfinished = [
            asyncio.create_task(connection.over.wait())
            for connection in self._open_connections
            if connection.is_answering
        ]
        if unfinished:
            _, late = await asyncio.wait(unfinished, timeout=_LAST_ANSWER_SECONDS)
            for task in late:
                task.cancel()
        self.sessions.stop()
        await self.engine.stop()

    def session_ended(self, session_id: str) -> None:
        """Hang up on the clients of an ended Maestro session: its token is no longer valid."""
        self.sessions.hang_up_on(lambda session: session.caller.session_id == session_id)
        self._receipts_by_caller.pop(session_id, None)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request. Turn the errors of Maestro into answers."""
        headers: dict[bytes, bytes] = dict(scope["headers"])
        try:
            self._guard(scope["headers"])
            caller = await self._identify_caller(headers)
            connections.admit(scope)
            await self._serve_request(scope, receive, send, headers, caller)
        except errors.NotAuthenticated as error:
            await http.answer(send, 401, http.encode(error.as_dict()), (b"www-authenticate", b"Bearer"))
        except errors.NotPermitted as error:
            await http.answer(send, 403, http.encode(error.as_dict()))
        except errors.TooLarge as error:
            await http.answer(send, 413, http.encode(error.as_dict()))
        except errors.MaestroError as error:
            await http.answer(send, 400, http.encode(error.as_dict()))

    async def _serve_request(
        self, scope: Scope, receive: Receive, send: Send, headers: Headers, caller: Caller
    ) -> None:
        session_id = headers.get(SESSION, b"").decode("latin-1")
        if session_id and self.sessions.is_anothers(session_id, caller):
            return await http.answer(send, 404, _SESSION_NOT_FOUND)
        version = headers.get(VERSION, b"").decode("latin-1")
        session = self.sessions.find(session_id, caller, version) if session_id else None
        receipts = session.handing if session is not None else self._receipts_of(caller)
        exchange = Exchange(scope, receive, send, headers, caller, session, receipts)
        if session is not None:
            session.caller = caller
            session.touch()
        if exchange.method == "POST":
            body = await http.body_of(receive)
            if body is None:
                return None
            exchange.body = body
            cancelled_id = requests.cancelled_by(body)
            if cancelled_id != "":
                receipts.taken_back(cancelled_id)
            await receipts.called(caller, exchange.connection)
            if await self._answer_fast(exchange):
                return None
            exchange.receive = http.again(body, receive)
        elif session is not None and not session.inner and exchange.method == "DELETE":
            self.sessions.end(session)
            return await exchange.answer(200, b"")
        return await self._answer_with_sdk(exchange)

    async def _answer_fast(self, exchange: Exchange) -> bool:
        """Answer without the SDK, if possible. Return whether the request has its answer."""
        message = requests.message_of(exchange.body)
        if message is None:
            return False
        session = exchange.known
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
        elif message.id in session.in_flight:
            return False
        else:
            session.in_flight.add(message.id)
            try:
                result = await self._fast_result(exchange, message, modern=modern)
            finally:
                session.in_flight.discard(message.id)
        if result is None:
            return False
        if message.method == "tools/list" and session is not None and session.listing is not None:
            session.listing.told(exchange.caller)
        body = short.reply(message, result.body)
        if result.receipt:
            await exchange.show(body, result.receipt, message.id)
        else:
            await exchange.answer(200, body)
        return True

    async def _fast_result(
        self, exchange: Exchange, message: requests.Message, *, modern: bool
    ) -> short.Result | None:
        async def identify() -> Caller:
            return exchange.caller

        return await self.short.result(message, identify, lambda name, arguments: _DEFAULT_OPTIONS, modern=modern)

    async def _answer_initialize(self, exchange: Exchange, message: requests.Message) -> bool:
        """Answer a client's `initialize` and start a session. Return False if the SDK must answer."""
        hello = requests.params_of(message, Hello) if exchange.is_hello() else None
        if hello is None:
            return False
        exchange.known = self.sessions.begin(hello, message.params, exchange.caller)
        await exchange.answer(200, short.reply(message, short.greeting(hello)))
        return True

    async def _note_initialized(self, exchange: Exchange, message: requests.Message) -> bool:
        """Note that the client finished its handshake. The SDK learns this later, with the session."""
        session = exchange.known
        if session is None or session.inner or session.introducing.locked() or message.method != INITIALIZED:
            return False
        if exchange.headers.get(VERSION, session.version) != session.version:
            return False
        session.ready = True
        await exchange.answer(202, b"")
        return True

    async def _answer_with_sdk(self, exchange: Exchange) -> None:
        """Let the SDK answer a request, under the SDK's session id."""
        session = exchange.known
        connection = HttpLine(
            exchange.caller, exchange.headers, session, hang_up=lambda: self.sessions.hang_up(session)
        )
        connection.is_answering = exchange.method == "POST"
        self._open_connections.add(connection)
        if session is not None:
            session.busy += 1
            session.listened |= exchange.method == "GET"
        try:
            await self._pass_to_sdk(exchange, connection)
        finally:
            connection.gone.set()
            connection.over.set()
            self._open_connections.discard(connection)
            if session is not None:
                session.busy -= 1
                session.touch()

    async def _pass_to_sdk(self, exchange: Exchange, connection: HttpLine) -> None:
        session = exchange.known
        if exchange.method == "GET" and not self.engine.is_there:
            # A stream has no notifications at first: do not load the SDK before the client's first calls.
            await asyncio.sleep(_STREAM_DELAY_SECONDS)
        engine = await self.engine.get()
        scope = dict(exchange.scope) | {CONNECTION_KEY: connection}
        if session is not None:
            if not await self.sessions.introduce(session):
                return await http.answer(exchange.send, 404, _SESSION_NOT_FOUND)
            scope["headers"] = http.with_header(scope["headers"], SESSION, session.inner)
            if exchange.method == "DELETE":
                self.sessions.end(session)
        relay = Way(exchange.receive, exchange.send, renamed=lambda message: self._rename_session(message, exchange))
        relay.before_end = lambda: shown_by(connection, exchange.caller, scope, exchange.handing)
        listens = session is not None and exchange.method == "GET"
        with self.sessions.listening(session) if listens and session is not None else contextlib.nullcontext():
            await engine.handle(scope, relay.receive, relay.send)
        if relay.shown is not None:
            await exchange.handing.end(relay.shown, is_out=not relay.is_broken)
        return None

    def _rename_session(self, message: Asgi, exchange: Exchange) -> Asgi:
        """Return the SDK's answer with the session id of the client. A new session gets an id."""
        sdk_id = http.header(message, SESSION)
        if not sdk_id:
            return message
        if exchange.known is None and message["status"] < 300:
            exchange.known = self.sessions.begun(sdk_id, requests.client_of(exchange.body), exchange.caller)
        client_id = exchange.known.outer if exchange.known is not None else sdk_id
        return {**message, "headers": http.with_header(message["headers"], SESSION, client_id)}

    def _receipts_of(self, caller: Caller) -> Handing:
        if len(self._receipts_by_caller) >= _CALLERS_KEPT_MAX:
            self._receipts_by_caller.clear()  # their mail stays delivered, and is offered again
        return self._receipts_by_caller.setdefault(caller.name, Handing(self._host))

    async def _identify_caller(self, headers: Headers) -> Caller:
        scheme, _, token = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            raise errors.NotAuthenticated(hint="Send the token as `Authorization: Bearer …`; see docs/mcp.md.")
        return await self._host.identify(token=token.strip(), peer=None)


def _names_tool(headers: Headers, message: requests.Message) -> bool:
    """Return whether the header `mcp-name` agrees with the call."""
    if message.method != "tools/call":
        return b"mcp-name" not in headers
    call = requests.params_of(message, requests.Call)
    return call is not None and headers.get(b"mcp-name") == call.name.encode()
