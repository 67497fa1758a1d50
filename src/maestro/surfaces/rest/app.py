"""The ASGI application for /api: find the operation, read the request, call the operation, send the answer.

The routes come from the declarations in `operations/`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from starlette.types import Receive, Scope, Send

from maestro.core import errors
from maestro.domain.callers import Caller, may_call
from maestro.domain.messages import ReceiptStep
from maestro.operations import mail, mail_shapes, server
from maestro.operations.app import App
from maestro.operations.base import Effect, Operation, Request
from maestro.surfaces import asgi
from maestro.surfaces.refusal_log import REFUSAL_LOG
from maestro.surfaces.rest import events
from maestro.surfaces.rest.guard import HeaderGuard
from maestro.surfaces.rest.openapi import build_document
from maestro.surfaces.rest.router import Router, WrongVerb
from maestro.surfaces.rest.shapes import RequestShape, shape_of
from maestro.surfaces.rest.statuses import status_of

log = logging.getLogger(__name__)
_encode = msgspec.json.Encoder().encode
_OPENAPI = "/api/openapi.json"
_EMPTY_REQUEST = Request()


class RestApplication:
    """The REST surface."""

    def __init__(self, app: App, registry: Mapping[str, Operation], *, hosts: Iterable[str], version: str) -> None:
        shapes = [shape_of(operation) for operation in registry.values()]
        self._app = app
        self._guard = HeaderGuard(hosts)
        self._router = Router(shapes)
        self._openapi = _encode(build_document(shapes, version=version))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request. Turn every exception into an answer."""
        extra: tuple[tuple[bytes, bytes], ...] = ()
        try:
            status, body = await self._serve_request(scope, receive, send)
        except WrongVerb as wrong_verb:
            status, body = (
                405,
                _encode(errors.Invalid(f"The path does not accept this method. Use one of: {wrong_verb}.").as_dict()),
            )
            extra = ((b"allow", str(wrong_verb).encode()),)
        except errors.MaestroError as error:
            REFUSAL_LOG.log_refusal(error)
            status, body = status_of(type(error)), _encode(error.as_dict())
        except asyncio.CancelledError:
            raise
        except Exception as problem:
            # The only handler of unexpected exceptions: the log gets the traceback, the client a short message.
            fault = REFUSAL_LOG.find_system_fault(problem)
            if fault is None:
                log.exception("%s %s failed", scope["method"], scope["path"])
                fault = errors.MaestroError("Internal error. The server's log has the details.")
            status, body = status_of(type(fault)), _encode(fault.as_dict())
        if body is not None:
            await asgi.send_answer(send, status, body, *extra)

    async def _serve_request(self, scope: Scope, receive: Receive, send: Send) -> tuple[int, bytes | None]:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        self._guard.check_headers(scope["headers"])
        if scope["path"] == _OPENAPI and scope["method"] == "GET":
            return 200, self._openapi
        raw_path = scope.get("raw_path", b"").decode("latin-1").partition("?")[0] or scope["path"]
        shape, params = self._router.find_operation(scope["method"], raw_path)
        caller = await self._identify_caller(headers)
        asgi.mark_identified(scope)
        if not may_call(caller, shape.operation.name, shape.operation.callers):
            # Refuse before the body is read. The dispatcher raises the same error as for the full request.
            await self._app.call(shape.operation, _EMPTY_REQUEST, caller=caller)
        body = await _read_body(receive, headers) if shape.has_body else b""
        request = shape.read_request(params, scope["query_string"], body)
        if shape.operation is server.EVENTS and events.wants_stream(headers):
            await events.stream_events(self._app, shape.operation, request, caller, headers, receive, send)
            return 200, None
        answer = await self._call_operation(shape, request, caller, headers, receive)
        receipt = getattr(answer, "receipt", "")
        if not receipt:
            return 200, _encode(answer)
        await asgi.send_answer(send, 200, _encode(answer))
        # The mail is delivered. The cursor of the next call confirms that the client has read it.
        confirmation = mail_shapes.ConfirmReceipt(receipt=receipt, step=ReceiptStep.DELIVERED, via="http")
        with contextlib.suppress(errors.MaestroError):  # the answer is sent; unconfirmed mail is only offered again
            await self._app.call(mail.CONFIRM, confirmation, caller=caller)
        return 200, None

    async def _call_operation(
        self, shape: RequestShape, request: Any, caller: Caller, headers: dict[bytes, bytes], receive: Receive
    ) -> Any:
        key = headers.get(b"idempotency-key", b"").decode("latin-1")
        call = self._app.call(shape.operation, request, caller=caller, key=key)
        if shape.operation.effect is not Effect.ACTION:
            return await call
        return await asgi.await_while_connected(call, receive, closed="The client has closed the connection.")

    async def _identify_caller(self, headers: dict[bytes, bytes]) -> Caller:
        """Return the caller of a token. Over TCP every request needs a token."""
        if b"authorization" not in headers:
            raise errors.NotAuthenticated(hint="Send the token as `Authorization: Bearer …`; see docs/http.md.")
        token = asgi.read_bearer_token(headers)
        if not token:
            raise errors.NotAuthenticated("Send the token as `Authorization: Bearer …`.")
        return await self._app.identify(token=token, peer=None)


async def _read_body(receive: Receive, headers: dict[bytes, bytes]) -> bytes:
    content_type = headers.get(b"content-type", b"application/json").partition(b";")[0].strip().lower()
    if content_type != b"application/json":
        raise errors.Invalid("The body must be JSON: content-type application/json.")
    return await asgi.require_body(receive)
