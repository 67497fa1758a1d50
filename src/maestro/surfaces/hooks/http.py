"""Serve POST /hooks/<tool>/<event>, for programs that call hooks over HTTP with their session's token."""

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
from maestro.surfaces.hooks.answers import HookAnswer, HookAnswers, may_wait_for_person
from maestro.surfaces.refusals import REFUSAL_LOG
from maestro.tools.hook_dialect import HookEvent

PREFIX = "/hooks/"
_JSON = (b"content-type", b"application/json")
_STATUSES: tuple[tuple[type[errors.MaestroError], int], ...] = (
    (errors.NotAuthenticated, 401),
    (errors.NotPermitted, 403),
    (errors.TooLarge, 413),
    (errors.NotFound, 404),
)


class HookEndpoint:
    """The endpoint of hooks over HTTP. A refusal is only a status, which programs ignore."""

    def __init__(
        self, app: App, hooks: HookAnswers, *, guard: Callable[[Iterable[tuple[bytes, bytes]]], None]
    ) -> None:
        self._app = app
        self._hooks = hooks
        self._guard = guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        tool, _, event = scope["path"].removeprefix(PREFIX).partition("/")
        if scope["method"] != "POST":
            return await _send_answer(send, 405, b"", (b"allow", b"POST"))
        try:
            self._guard(scope["headers"])
            caller = await self._identify_caller(dict(scope["headers"]))
        except errors.MaestroError as error:
            return await _send_refusal(send, error)  # not recorded: any process could fill the store with requests
        connections.mark_identified(scope)
        try:
            answered = await self._answer_hook(caller, tool, event, receive)
        except errors.MaestroError as error:
            REFUSAL_LOG.log_refusal(error)
            self._hooks.record_failure(tool, event, error.message)
            return await _send_refusal(send, error)
        is_out = False
        try:
            await _send_answer(send, 200, answered.body or b"{}")
            is_out = True
        finally:
            with contextlib.suppress(errors.MaestroError):
                await asyncio.shield(self._hooks.settle_answer(answered, is_delivered=is_out))

    async def _identify_caller(self, headers: dict[bytes, bytes]) -> Caller:
        """Return the caller that the token proves."""
        scheme, _, token = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            raise errors.NotAuthenticated(hint="Send the session's token as `Authorization: Bearer …`.")
        return await self._app.identify(token=token.strip(), peer=None)

    async def _answer_hook(self, caller: Caller, tool: str, event: str, receive: Receive) -> HookAnswer:
        async def identify(happening: HookEvent) -> Caller:
            return caller

        async def announce_hold() -> None:
            """Do nothing: a client over HTTP cannot be told to wait."""

        work = self._hooks.answer_hook(tool, event, await _read_body(receive), identify, before_hold=announce_hold)
        return await _await_while_connected(work, receive) if may_wait_for_person(tool, event) else await work


async def _await_while_connected(work: Coroutine[Any, Any, HookAnswer], receive: Receive) -> HookAnswer:
    """Return the answer of a hook; cancel the work when the program closes the connection."""
    answering = asyncio.ensure_future(work)
    disconnect = asyncio.ensure_future(_wait_for_disconnect(receive))
    try:
        await asyncio.wait({answering, disconnect}, return_when=asyncio.FIRST_COMPLETED)
        if not answering.done():
            raise errors.TimedOut("The program has closed the connection.")
        return answering.result()
    finally:
        answering.cancel()
        disconnect.cancel()
        await asyncio.gather(answering, disconnect, return_exceptions=True)


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _read_body(receive: Receive) -> bytes:
    parts: list[bytes] = []
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise errors.Invalid("The request ended before its body was complete.")
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        more = message.get("more_body", False)
        if size > limits.hook_body_bytes_max:
            raise errors.TooLarge(f"The hook's payload is too large: at most {limits.hook_body_bytes_max} bytes.")
    return b"".join(parts)


async def _send_refusal(send: Send, error: errors.MaestroError) -> None:
    """Send the status of an error. Errors without a status give an empty answer, which the program ignores."""
    status = next((code for kind, code in _STATUSES if isinstance(error, kind)), 200)
    await _send_answer(send, status, msgspec.json.encode(error.as_dict()) if status != 200 else b"{}")


async def _send_answer(send: Send, status: int, body: bytes, *extra: tuple[bytes, bytes]) -> None:
    """Send head and body in the same turn of the event loop, which joins them in a single write."""
    headers = [_JSON, (b"content-length", str(len(body)).encode()), *extra]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
