"""An HTTP request that the SDK answers: the connection that the engine sees, and the relay of the answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from starlette.types import Message, Receive, Scope, Send

from maestro.domain.callers import Caller
from maestro.surfaces import asgi
from maestro.surfaces.mcp.http.headers import WAIT_SECONDS_HEADER, Headers
from maestro.surfaces.mcp.http.receipts import MailReceipts, ShownMail
from maestro.surfaces.mcp.http.session_registry import ProtocolSession
from maestro.surfaces.mcp.tools.calls import CallOptions
from maestro.surfaces.mcp.tools.resource_updates import ResourceUpdates
from maestro.surfaces.mcp.tools.wait_limits import wait_seconds


class HttpConnection:
    """The connection of one HTTP request, as the engine sees it."""

    def __init__(
        self, caller: Caller, headers: Headers, session: ProtocolSession | None, *, hang_up: Callable[[], None]
    ) -> None:
        self.client_gone = asyncio.Event()
        self.is_finished = asyncio.Event()
        self.is_answering = False  # False for a stream, which lasts until client or server closes it
        # The id of a request, and the receipt of the mail in its answer.
        self.shown_mail: tuple[int | str | None, str] | None = None
        self._caller = caller
        self._wait_seconds_header = headers.get(WAIT_SECONDS_HEADER, b"").decode("latin-1")
        self._session = session
        self._hang_up = hang_up

    @property
    def updates(self) -> ResourceUpdates | None:
        return self._session.updates if self._session is not None else None

    @updates.setter
    def updates(self, updates: ResourceUpdates | None) -> None:
        if self._session is not None:
            self._session.updates = updates

    async def identify_caller(self, client: str) -> Caller:
        return self._caller

    def call_options(
        self, request_id: int | str | None, name: str, arguments: Mapping[str, Any], client: str
    ) -> CallOptions:
        return CallOptions(seconds_max=wait_seconds(client, self._wait_seconds_header))

    def note_shown_mail(self, request_id: int | str | None, receipt: str, caller: Caller) -> None:
        self.shown_mail = (request_id, receipt)

    def note_listed_tools(self, caller: Caller) -> None:
        if self._session is not None and self._session.tool_list is not None:
            self._session.tool_list.note_listed_tools(caller)

    def hang_up(self) -> None:
        self._hang_up()


class AnswerRelay:
    """A relay between a client and the SDK that renames the session id, and notices a client that hangs up early."""

    def __init__(self, receive: Receive, send: Send, *, rename_session: Callable[[Message], Message]) -> None:
        self.is_broken = False
        self.shown: ShownMail | None = None
        self.before_body: Callable[[], ShownMail | None] = lambda: None
        self._receive = receive
        self._send = send
        self._rename_session = rename_session
        self._is_complete = False

    async def receive(self) -> Message:
        message = await self._receive()
        self.is_broken |= message["type"] == "http.disconnect" and not self._is_complete
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            message = self._rename_session(message)
        elif message["type"] == "http.response.body":
            if self.shown is None:
                self.shown = self.before_body()  # from here on the client may have the answer, and call again
            self._is_complete |= not message.get("more_body")
        await self._send(message)


def record_shown_mail(
    connection: HttpConnection, caller: Caller, scope: Scope, receipts: MailReceipts
) -> ShownMail | None:
    """Record the mail that an answer shows, before the answer is sent; return None for an answer without mail."""
    if connection.shown_mail is None:
        return None
    request_id, receipt = connection.shown_mail
    shown = ShownMail(receipt, caller, scope.get("client"), request_id, scope.get(asgi.OUTCOME_KEY))
    receipts.add_answer(shown)
    return shown
