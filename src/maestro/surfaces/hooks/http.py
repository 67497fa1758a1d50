"""POST /hooks/<tool>/<event>: for programs that call their hooks over HTTP, with their session's token."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

import msgspec
from starlette.types import Receive, Scope, Send

from maestro.core import errors, limits
from maestro.domain.callers import Caller
from maestro.operations.app import App
from maestro.surfaces import connections
from maestro.surfaces.hooks.answers import Answered, Hooks, may_hold
from maestro.surfaces.refusals import REFUSALS
from maestro.tools.hooks.base import Happening

PREFIX = "/hooks/"
_JSON = (b"content-type", b"application/json")
_STATUSES: tuple[tuple[type[errors.MaestroError], int], ...] = (
    (errors.NotAuthenticated, 401),
    (errors.NotPermitted, 403),
    (errors.TooLarge, 413),
    (errors.NotFound, 404),
)


class HookEndpoint:
    """Serves hooks over HTTP. A refusal is a status; programs take that for silence."""

    def __init__(self, app: App, hooks: Hooks, *, guard: Callable[[Iterable[tuple[bytes, bytes]]], None]) -> None:
        self._app = app
        self._hooks = hooks
        self._guard = guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        tool, _, event = scope["path"].removeprefix(PREFIX).partition("/")
        if scope["method"] != "POST":
            return await _send(send, 405, b"", (b"allow", b"POST"))
        try:
            self._guard(scope["headers"])
            caller = await self._caller(dict(scope["headers"]))
        except errors.MaestroError as error:
            return await _refuse(send, error)  # without a note: anybody could fill the store with such requests
        connections.admit(scope)
        try:
            answered = await self._answer(caller, tool, event, receive)
        except errors.MaestroError as error:
            REFUSALS.note(error)
            self._hooks.failed(tool, event, error.message)
            return await _refuse(send, error)
        is_out = False
        try:
            await _send(send, 200, answered.body or b"{}")
            is_out = True
        finally:
            with contextlib.suppress(errors.MaestroError):
                await asyncio.shield(self._hooks.handed(answered, is_out=is_out))

    async def _caller(self, headers: dict[bytes, bytes]) -> Caller:
        """Return the caller that the token proves."""
        scheme, _, token = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            raise errors.NotAuthenticated(hint="Send the session's token as `Authorization: Bearer …`.")
        return await self._app.identify(token=token.strip(), peer=None)

    async def _answer(self, caller: Caller, tool: str, event: str, receive: Receive) -> Answered:
        async def who(happening: Happening) -> Caller:
            return caller

        async def holds() -> None:
            """Over HTTP nobody asks how long."""

        work = self._hooks.answer(tool, event, await _body(receive), who, holds=holds)
        return await _unless_gone(work, receive) if may_hold(tool, event) else await work


async def _unless_gone(work: Coroutine[Any, Any, Answered], receive: Receive) -> Answered:
    """What is held is let go when its program hangs up."""
    answering = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_gone(receive))
    try:
        await asyncio.wait({answering, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not answering.done():
            raise errors.TimedOut("The program has hung up.")
        return answering.result()
    finally:
        answering.cancel()
        gone.cancel()
        await asyncio.gather(answering, gone, return_exceptions=True)


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _body(receive: Receive) -> bytes:
    parts: list[bytes] = []
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise errors.Invalid("The request ended before its body did.")
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        more = message.get("more_body", False)
        if size > limits.hook_body_bytes_max:
            raise errors.TooLarge(f"A hook sends at most {limits.hook_body_bytes_max} bytes.")
    return b"".join(parts)


async def _refuse(send: Send, error: errors.MaestroError) -> None:
    """Send the status that fits an error."""
    status = next((code for kind, code in _STATUSES if isinstance(error, kind)), 200)
    await _send(send, status, msgspec.json.encode(error.as_dict()) if status != 200 else b"{}")


async def _send(send: Send, status: int, body: bytes, *extra: tuple[bytes, bytes]) -> None:
    """Head and body in one turn of the event loop: they leave as one write."""
    headers = [_JSON, (b"content-length", str(len(body)).encode()), *extra]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
