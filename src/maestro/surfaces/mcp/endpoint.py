"""The endpoint at /mcp: who is calling, in which session, and which of the two ways. Knows nothing of the SDK."""

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
from maestro.surfaces.mcp.listings import Listings
from maestro.surfaces.mcp.ports import Host
from maestro.surfaces.mcp.requests import INITIALIZED, SESSION, VERSION, Headers, Hello
from maestro.surfaces.mcp.sessions import Sessions
from maestro.surfaces.mcp.short import Short

if TYPE_CHECKING:
    from maestro.surfaces.mcp.engine import Engine

_LAST_WORD_SECONDS = 0.5
_STREAM_AFTER_SECONDS = 1.0
_CALLERS_KEPT_MAX = 10_000
_NOT_FOUND = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Session not found"}}'
_PLAIN = Order()


class Endpoint:
    """MCP over HTTP."""

    def __init__(
        self,
        host: Host,
        calls: Calls,
        *,
        guard: Callable[[Iterable[tuple[bytes, bytes]]], None],
        words: Callable[[Any], str],
    ) -> None:
        def make(module: Any) -> Engine:
            engine: Engine = module.Engine(host, calls, self.listings, words=words, ready=self.sessions.ready)
            return engine

        self.engine = LazyEngine(make)
        self.short = Short(calls)
        self.listings = Listings()
        self.sessions = Sessions(host, self.engine, self.listings)
        self._host = host
        self._guard = guard
        self._handings: dict[str, Handing] = {}  # of callers without sessions of the protocol, as since 2026-07-28
        self._open: set[HttpLine] = set()

    async def stop(self) -> None:
        """End every stream and wait; waits are told so."""
        for line in self._open:
            line.gone.set()
        answering = [asyncio.create_task(line.over.wait()) for line in self._open if line.is_answering]
        if answering:
            _, late = await asyncio.wait(answering, timeout=_LAST_WORD_SECONDS)
            for task in late:
                task.cancel()
        self.sessions.stop()
        await self.engine.stop()

    def session_ended(self, session_id: str) -> None:
        """A Maestro session is over, and with it whatever its token was good for."""
        self.sessions.hang_up_on(lambda known: known.caller.session_id == session_id)
        self._handings.pop(session_id, None)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request. Errors of ours become answers here."""
        headers: dict[bytes, bytes] = dict(scope["headers"])
        try:
            self._guard(scope["headers"])
            caller = await self._caller(headers)
            connections.admit(scope)
            await self._serve(scope, receive, send, headers, caller)
        except errors.NotAuthenticated as error:
            await http.answer(send, 401, http.encode(error.as_dict()), (b"www-authenticate", b"Bearer"))
        except errors.NotPermitted as error:
            await http.answer(send, 403, http.encode(error.as_dict()))
        except errors.TooLarge as error:
            await http.answer(send, 413, http.encode(error.as_dict()))
        except errors.MaestroError as error:
            await http.answer(send, 400, http.encode(error.as_dict()))

    async def _serve(self, scope: Scope, receive: Receive, send: Send, headers: Headers, caller: Caller) -> None:
        outer = headers.get(SESSION, b"").decode("latin-1")
        if outer and self.sessions.is_anothers(outer, caller):
            return await http.answer(send, 404, _NOT_FOUND)
        version = headers.get(VERSION, b"").decode("latin-1")
        known = self.sessions.find(outer, caller, version) if outer else None
        handing = known.handing if known is not None else self._handing(caller)
        exchange = Exchange(scope, receive, send, headers, caller, known, handing)
        if known is not None:
            known.caller = caller
            known.touch()
        if exchange.method == "POST":
            body = await http.body_of(receive)
            if body is None:
                return None
            exchange.body = body
            taken_back = requests.cancelled_by(body)
            if taken_back != "":
                handing.taken_back(taken_back)
            await handing.called(caller, exchange.connection)
            if await self._answered(exchange):
                return None
            exchange.receive = http.again(body, receive)
        elif known is not None and not known.inner and exchange.method == "DELETE":
            self.sessions.end(known)
            return await exchange.answer(200, b"")
        return await self._long_way(exchange)

    async def _answered(self, exchange: Exchange) -> bool:
        """The short way."""
        message = requests.message_of(exchange.body)
        if message is None:
            return False
        known = exchange.known
        if message.id is msgspec.UNSET:
            return await self._is_ready(exchange, message)
        if message.method == "initialize":
            return await self._greeted(exchange, message)
        modern = exchange.is_modern(message)
        if not (modern or exchange.is_established()):
            return False
        if modern and not _is_named(exchange.headers, message):
            return False
        if known is None:
            result = await self._result(exchange, message, modern=modern)
        elif message.id in known.in_flight:
            return False
        else:
            known.in_flight.add(message.id)
            try:
                result = await self._result(exchange, message, modern=modern)
            finally:
                known.in_flight.discard(message.id)
        if result is None:
            return False
        if message.method == "tools/list" and known is not None and known.listing is not None:
            known.listing.told(exchange.caller)
        body = short.reply(message, result.body)
        if result.receipt:
            await exchange.show(body, result.receipt, message.id)
        else:
            await exchange.answer(200, body)
        return True

    async def _result(self, exchange: Exchange, message: requests.Message, *, modern: bool) -> short.Result | None:
        async def who() -> Caller:
            return exchange.caller

        return await self.short.result(message, who, lambda name, arguments: _PLAIN, modern=modern)

    async def _greeted(self, exchange: Exchange, message: requests.Message) -> bool:
        """A client introduces itself."""
        hello = requests.params_of(message, Hello) if exchange.is_hello() else None
        if hello is None:
            return False
        exchange.known = self.sessions.begin(hello, message.params, exchange.caller)
        await exchange.answer(200, short.reply(message, short.greeting(hello)))
        return True

    async def _is_ready(self, exchange: Exchange, message: requests.Message) -> bool:
        """A client says that its handshake is done; the SDK is told so when it hears of the session."""
        known = exchange.known
        if known is None or known.inner or known.introducing.locked() or message.method != INITIALIZED:
            return False
        if exchange.headers.get(VERSION, known.version) != known.version:
            return False
        known.ready = True
        await exchange.answer(202, b"")
        return True

    async def _long_way(self, exchange: Exchange) -> None:
        """As the SDK does it, under the ids that it knows."""
        known = exchange.known
        line = HttpLine(exchange.caller, exchange.headers, known, hang_up=lambda: self.sessions.hang_up(known))
        line.is_answering = exchange.method == "POST"
        self._open.add(line)
        if known is not None:
            known.busy += 1
            known.listened |= exchange.method == "GET"
        try:
            await self._handled(exchange, line)
        finally:
            line.gone.set()
            line.over.set()
            self._open.discard(line)
            if known is not None:
                known.busy -= 1
                known.touch()

    async def _handled(self, exchange: Exchange, line: HttpLine) -> None:
        known = exchange.known
        if exchange.method == "GET" and not self.engine.is_there:
            # A stream of what changes, before there is anything to tell: let the client look around first.
            await asyncio.sleep(_STREAM_AFTER_SECONDS)
        engine = await self.engine.get()
        scope = dict(exchange.scope) | {"maestro.line": line}
        if known is not None:
            if not await self.sessions.introduce(known):
                return await http.answer(exchange.send, 404, _NOT_FOUND)
            scope["headers"] = http.with_header(scope["headers"], SESSION, known.inner)
            if exchange.method == "DELETE":
                self.sessions.end(known)
        way = Way(exchange.receive, exchange.send, renamed=lambda message: self._renamed(message, exchange))
        way.before_end = lambda: shown_by(line, exchange.caller, scope, exchange.handing)
        listens = known is not None and exchange.method == "GET"
        with self.sessions.listening(known) if listens and known is not None else contextlib.nullcontext():
            await engine.handle(scope, way.receive, way.send)
        if way.shown is not None:
            await exchange.handing.end(way.shown, is_out=not way.is_broken)
        return None

    def _renamed(self, message: Asgi, exchange: Exchange) -> Asgi:
        """The SDK's answer with the id that the client knows; a new session gets one."""
        inner = http.header(message, SESSION)
        if not inner:
            return message
        if exchange.known is None and message["status"] < 300:
            exchange.known = self.sessions.begun(inner, requests.client_of(exchange.body), exchange.caller)
        outer = exchange.known.outer if exchange.known is not None else inner
        return {**message, "headers": http.with_header(message["headers"], SESSION, outer)}

    def _handing(self, caller: Caller) -> Handing:
        if len(self._handings) >= _CALLERS_KEPT_MAX:
            self._handings.clear()  # what they were shown stays delivered, and is offered again
        return self._handings.setdefault(caller.name, Handing(self._host))

    async def _caller(self, headers: Headers) -> Caller:
        scheme, _, token = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            raise errors.NotAuthenticated(hint="Send it as `Authorization: Bearer …`; see docs/mcp.md.")
        return await self._host.identify(token=token.strip(), peer=None)


def _is_named(headers: Headers, message: requests.Message) -> bool:
    """Whether the header that names a tool says the same as the call does."""
    if message.method != "tools/call":
        return b"mcp-name" not in headers
    call = requests.params_of(message, requests.Call)
    return call is not None and headers.get(b"mcp-name") == call.name.encode()
