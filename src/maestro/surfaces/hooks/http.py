"""Serve POST /hooks/<tool>/<event>, for programs that call hooks over HTTP with their session's token."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable

import msgspec
from starlette.types import Receive, Scope, Send

from maestro.core import errors, limits
from maestro.domain.callers import Caller
from maestro.operations.app import App
from maestro.surfaces import asgi
from maestro.surfaces.hooks.answers import HookAnswer, HookAnswers, may_wait_for_person
from maestro.surfaces.refusal_log import REFUSAL_LOG
from maestro.tools.hook_dialect import HookEvent

PREFIX = "/hooks/"
_TOO_LARGE = "The hook's payload is too large: at most {bytes_max} bytes."
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
            return await asgi.send_answer(send, 405, b"", (b"allow", b"POST"))
        try:
            self._guard(scope["headers"])
            caller = await self._identify_caller(dict(scope["headers"]))
        except errors.MaestroError as error:
            return await _send_refusal(send, error)  # not recorded: any process could fill the store with requests
        asgi.mark_identified(scope)
        try:
            answered = await self._answer_hook(caller, tool, event, receive)
        except errors.MaestroError as error:
            REFUSAL_LOG.log_refusal(error)
            self._hooks.record_failure(tool, event, error.message)
            return await _send_refusal(send, error)
        is_out = False
        try:
            await asgi.send_answer(send, 200, answered.body or b"{}")
            is_out = True
        finally:
            with contextlib.suppress(errors.MaestroError):
                await asyncio.shield(self._hooks.settle_answer(answered, is_delivered=is_out))

    async def _identify_caller(self, headers: dict[bytes, bytes]) -> Caller:
        """Return the caller that the token proves."""
        token = asgi.read_bearer_token(headers)
        if not token:
            raise errors.NotAuthenticated(hint="Send the session's token as `Authorization: Bearer …`.")
        return await self._app.identify(token=token, peer=None)

    async def _answer_hook(self, caller: Caller, tool: str, event: str, receive: Receive) -> HookAnswer:
        async def identify(hook_event: HookEvent) -> Caller:
            return caller

        async def announce_hold() -> None:
            """Do nothing: a client over HTTP cannot be told to wait."""

        payload = await asgi.require_body(receive, bytes_max=limits.hook_body_bytes_max, too_large=_TOO_LARGE)
        work = self._hooks.answer_hook(tool, event, payload, identify, before_hold=announce_hold)
        if not may_wait_for_person(tool, event):
            return await work
        return await asgi.await_while_connected(work, receive, closed="The program has closed the connection.")


async def _send_refusal(send: Send, error: errors.MaestroError) -> None:
    """Send the status of an error. Errors without a status give an empty answer, which the program ignores."""
    status = next((code for kind, code in _STATUSES if isinstance(error, kind)), 200)
    await asgi.send_answer(send, status, msgspec.json.encode(error.as_dict()) if status != 200 else b"{}")
