"""The endpoint at /mcp: who is calling, and the short way for quick tool calls. Knows nothing of the SDK.

The short way only ever gives a tool's answer. Whatever is not a plain call of a quick tool, errors of the protocol
above all, goes to the SDK as it came. A test holds both ways equal.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from starlette.types import Message, Receive, Scope, Send

from maestro import errors, limits
from maestro.domain.callers import Caller
from maestro.surfaces.mcp import http, requests
from maestro.surfaces.mcp.calls import Calls
from maestro.surfaces.mcp.handing import Handing, Shown
from maestro.surfaces.mcp.http_lines import HttpLine, Way, shown_by
from maestro.surfaces.mcp.known import Known, Register
from maestro.surfaces.mcp.ports import Host
from maestro.surfaces.mcp.requests import MODERN, SESSION, VERSION, Headers

if TYPE_CHECKING:
    from maestro.surfaces.mcp.engine import Engine

log = logging.getLogger(__name__)

_OLDEST = b"2025-03-26"  # what a client speaks that does not say it
_META = "io.modelcontextprotocol/"
_LAST_WORD_SECONDS = 0.5
_CALLERS_KEPT_MAX = 10_000
_NOT_FOUND = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Session not found"}}'


class Endpoint:
    """MCP over HTTP."""

    def __init__(
        self, host: Host, calls: Calls, *, guard: Callable[[dict[bytes, bytes]], None], words: Callable[[Any], str]
    ) -> None:
        self._host = host
        self._calls = calls
        self._guard = guard
        self._words = words
        self._known = Register(host.sign)
        self._handings: dict[str, Handing] = {}  # of callers without sessions of the protocol, as since 2026-07-28
        self._engine: Engine | None = None
        self._starting: asyncio.Task[Engine] | None = None
        self._reaping: asyncio.Task[None] | None = None
        self._open: set[HttpLine] = set()

    async def engine(self) -> Engine:
        """The SDK, which is there once somebody needs it; that whoever was first hangs up does not stop it."""
        if self._engine is not None:
            return self._engine
        if self._starting is None or (self._starting.done() and self._starting.exception() is not None):
            self._starting = asyncio.create_task(self._start())
        return await asyncio.shield(self._starting)

    async def _start(self) -> Engine:
        # Imported in a thread, it holds up nobody else.
        module = await asyncio.to_thread(importlib.import_module, "maestro.surfaces.mcp.engine")
        engine: Engine = module.Engine(self._host, self._calls, words=self._words, ready=self._ready)
        await engine.start()
        self._engine = engine
        return engine

    def __len__(self) -> int:
        """How many sessions of the protocol there are."""
        return len(self._known)

    async def stop(self) -> None:
        """End every stream and wait; waits are told so."""
        if self._reaping is not None:
            self._reaping.cancel()
        for line in self._open:
            line.gone.set()
        answering = [asyncio.create_task(line.over.wait()) for line in self._open if line.is_answering]
        if answering:
            _, late = await asyncio.wait(answering, timeout=_LAST_WORD_SECONDS)
            for task in late:
                task.cancel()
        for known in self._known:
            self._known.drop(known)
        if self._engine is not None:
            await self._engine.stop()

    def session_ended(self, session_id: str) -> None:
        """A Maestro session is over, and with it whatever its token was good for."""
        for known in self._known:
            if known.caller.session_id == session_id:
                self._hang_up(known)
        self._handings.pop(session_id, None)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request. Errors of ours become answers here."""
        headers: dict[bytes, bytes] = dict(scope["headers"])
        try:
            self._guard(headers)
            caller = await self._caller(headers)
            await self._serve(scope, receive, send, headers, caller)
        except errors.NotAuthenticated as error:
            await http.answer(send, 401, http.encode(error.as_dict()), (b"www-authenticate", b"Bearer"))
        except errors.NotPermitted as error:
            await http.answer(send, 403, http.encode(error.as_dict()))
        except errors.TooLarge as error:
            await http.answer(send, 413, http.encode(error.as_dict()))
        except errors.MaestroError as error:
            await http.answer(send, 400, http.encode(error.as_dict()))

    async def _serve(
        self, scope: Scope, receive: Receive, send: Send, headers: dict[bytes, bytes], caller: Caller
    ) -> None:
        outer = headers.get(SESSION, b"").decode("latin-1")
        known = self._known.get(outer) if outer else None
        if known is not None and known.caller.name != caller.name:
            return await http.answer(send, 404, _NOT_FOUND)
        if known is None and outer and self._known.is_ours(outer, caller):
            known = await self._revive(outer, caller, headers.get(VERSION, _OLDEST))
        handing = known.handing if known is not None else self._handing(caller)
        if known is not None:
            known.caller = caller
            known.touch()
        body = b""
        if scope["method"] == "POST":
            found = await http.body_of(receive)
            if found is None:
                return None
            body = found
            if requests.CANCELLED in body:
                handing.taken_back(requests.cancelled_by(body))
            await handing.called(caller, scope.get("client"))
            if await self._answered(scope, headers, caller, known, handing, body, send):
                return None
            receive = http.again(body, receive)
        return await self._long_way(scope, receive, send, headers, caller, known, handing, body)

    async def _answered(
        self,
        scope: Scope,
        headers: Headers,
        caller: Caller,
        known: Known | None,
        handing: Handing,
        body: bytes,
        send: Send,
    ) -> bool:
        """The short way, if this is a plain call of a quick tool."""
        modern = headers.get(VERSION) == MODERN
        if not (self._is_modern_call(scope, headers) if modern else requests.is_plain(known, headers)):
            return False
        call = requests.call_of(body)
        if call is None:
            return False
        name, arguments = call.params.name, call.params.arguments or {}
        if not self._calls.is_quick(name, arguments, caller):
            return False
        if modern and not self._is_good_envelope(headers, call.params):
            return False
        if known is not None and call.id in known.in_flight:
            return False
        if known is not None:
            known.in_flight.add(call.id)
        try:
            answer = await self._calls.call(name, arguments, caller, requests.order_of(call))
        finally:
            if known is not None:
                known.in_flight.discard(call.id)
        result: dict[str, Any] = {"content": [{"type": "text", "text": answer.text}], "isError": answer.is_error}
        if answer.data is not None:
            result["structuredContent"] = answer.data
        extra: tuple[tuple[bytes, bytes], ...] = ()
        if modern:
            assert self._engine is not None
            result = {"_meta": self._engine.stamp, **result, "resultType": "complete"}
        elif known is not None:
            extra = ((SESSION, known.outer.encode()),)
        shown = Shown(answer.receipt, caller, scope.get("client"), call.id) if answer.receipt else None
        if shown is not None:
            handing.begin(shown)
        await http.answer(send, 200, http.encode({"jsonrpc": "2.0", "id": call.id, "result": result}), *extra)
        if shown is not None:
            await handing.end(shown, is_out=True)
        return True

    def _is_modern_call(self, scope: Scope, headers: Headers) -> bool:
        """Of 2026-07-28, where every request speaks for itself. A header that comes twice is the SDK's to judge."""
        return (
            self._engine is not None
            and headers.get(b"mcp-method") == b"tools/call"
            and SESSION not in headers
            and len(headers) == len(scope["headers"])
            and requests.is_json(headers, both=True)
        )

    def _is_good_envelope(self, headers: Headers, params: requests.Params) -> bool:
        meta = params.meta or {}
        assert self._engine is not None
        return (
            headers.get(b"mcp-name") == params.name.encode()
            and meta.get(f"{_META}protocolVersion") == MODERN.decode()
            and isinstance(meta.get(f"{_META}clientCapabilities"), dict)
            and self._engine.is_good_envelope(meta)
        )

    async def _long_way(
        self,
        scope: Scope,
        receive: Receive,
        send: Send,
        headers: Headers,
        caller: Caller,
        known: Known | None,
        handing: Handing,
        body: bytes,
    ) -> None:
        """As the SDK does it, under the ids that it knows."""
        engine = await self.engine()
        line = HttpLine(caller, headers, known, hang_up=lambda: self._hang_up(known))
        line.is_answering = scope["method"] == "POST"
        self._open.add(line)
        scope = dict(scope) | {"maestro.line": line}
        if known is not None:
            scope["headers"] = http.with_header(scope["headers"], SESSION, known.inner)
            known.busy += 1
            known.listened |= scope["method"] == "GET"
            if scope["method"] == "DELETE":
                self._known.end(known)
        way = Way(receive, send, renamed=lambda message: self._renamed(message, caller, known, body))
        way.before_end = lambda: shown_by(line, caller, scope, handing)
        try:
            await engine.handle(scope, way.receive, way.send)
        finally:
            line.gone.set()
            line.over.set()
            self._open.discard(line)
            if known is not None:
                known.busy -= 1
                known.touch()
        if way.shown is not None:
            await handing.end(way.shown, is_out=not way.is_broken)

    def _renamed(self, message: Message, caller: Caller, known: Known | None, body: bytes) -> Message:
        """The SDK's answer with the id that the client knows; a new session gets one."""
        inner = http.header(message, SESSION)
        if not inner:
            return message
        if known is None and message["status"] < 300:
            known = self._add(
                Known(self._known.mint(caller, requests.client_of(body)), inner, caller, Handing(self._host))
            )
        outer = known.outer if known is not None else inner
        return {**message, "headers": http.with_header(message["headers"], SESSION, outer)}

    def _add(self, known: Known) -> Known:
        if self._reaping is None or self._reaping.done():
            self._reaping = asyncio.create_task(self._reap())
        return self._known.add(known)

    def _ready(self, inner: str, version: str) -> None:
        """The SDK has taken a client's word that it is initialized."""
        known = self._known.by_inner(inner)
        if known is not None:
            known.version, known.ready = version.encode(), True

    async def _revive(self, outer: str, caller: Caller, version: bytes) -> Known | None:
        """A session of ours that the SDK does not have any more, or not since a restart: shake hands anew."""
        params = {
            "protocolVersion": version.decode("latin-1"),
            "capabilities": {},
            "clientInfo": {"name": self._known.client_of(outer), "version": "0"},
        }
        hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
        first = await self._ask_inside("POST", hello, caller)
        already = self._known.get(outer)  # another request of the same client may have been quicker
        if already is not None or not first.session_id:
            return already
        known = self._add(Known(outer, first.session_id, caller, Handing(self._host)))
        named = ((SESSION, known.inner.encode()), (VERSION, version))
        await self._ask_inside("POST", {"jsonrpc": "2.0", "method": "notifications/initialized"}, caller, *named)
        return known

    async def _ask_inside(
        self, method: str, message: Any, caller: Caller, *extra: tuple[bytes, bytes]
    ) -> http.Inside:
        engine = await self.engine()
        line = HttpLine(caller, {}, None, hang_up=lambda: None)
        asked = http.Inside(method, message, extra, **{"maestro.line": line})
        await engine.handle(asked.scope, asked.receive, asked.send)
        return asked

    def _hang_up(self, known: Known | None) -> None:
        """End a session of the protocol; if its client still is there, its id brings it back."""
        if known is None or self._known.get(known.outer) is not known:
            return
        self._known.drop(known)
        task = asyncio.ensure_future(self._ask_inside("DELETE", None, known.caller, (SESSION, known.inner.encode())))
        task.add_done_callback(lambda done: done.exception())

    async def _reap(self) -> None:
        """While there are sessions: end those whose clients have been silent for long."""
        while len(self._known):
            await asyncio.sleep(limits.mcp_reap_seconds)
            self.reap(time.monotonic())

    def reap(self, now: float) -> None:
        """End the sessions that are idle by then."""
        for known in self._known:
            if known.is_idle(now):
                self._hang_up(known)

    def _handing(self, caller: Caller) -> Handing:
        if len(self._handings) >= _CALLERS_KEPT_MAX:
            self._handings.clear()  # what they were shown stays delivered, and is offered again
        return self._handings.setdefault(caller.name, Handing(self._host))

    async def _caller(self, headers: Headers) -> Caller:
        scheme, _, token = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            raise errors.NotAuthenticated(hint="Send it as `Authorization: Bearer …`; see docs/mcp.md.")
        return await self._host.identify(token=token.strip(), peer=None)
