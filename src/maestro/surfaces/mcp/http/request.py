"""An MCP request over HTTP, with its caller, session and answer."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.types import Receive, Scope, Send

from maestro.domain.callers import Caller
from maestro.surfaces import asgi
from maestro.surfaces.mcp.fast_path.messages import MODERN_REVISION, RpcMessage
from maestro.surfaces.mcp.http.headers import SESSION_HEADER, VERSION_HEADER, Headers, is_json_request
from maestro.surfaces.mcp.http.receipts import ConnectionOutcome, MailReceipts, ShownMail
from maestro.surfaces.mcp.http.session_registry import ProtocolSession


@dataclass
class McpExchange:
    """A request, and the functions that send the answer."""

    scope: Scope
    receive: Receive
    send: Send
    headers: Headers
    caller: Caller
    session: ProtocolSession | None  # the MCP session of the request
    receipts: MailReceipts
    body: bytes = b""

    @property
    def method(self) -> str:
        method: str = self.scope["method"]
        return method

    @property
    def connection(self) -> object:
        return self.scope.get("client")

    def may_initialize(self) -> bool:
        """Return whether the request may start a session, and has only usual headers."""
        return self.session is None and VERSION_HEADER not in self.headers and self._has_usual_headers(both=True)

    def is_modern(self, message: RpcMessage) -> bool:
        """Return whether the request follows 2026-07-28: it needs no session, and its headers agree with its body."""
        return (
            self.headers.get(VERSION_HEADER) == MODERN_REVISION.encode()
            and self.headers.get(b"mcp-method") == message.method.encode()
            and SESSION_HEADER not in self.headers
            and self._has_usual_headers(both=True)
        )

    def is_established(self) -> bool:
        """Return whether the request belongs to an initialized session, and has only usual headers."""
        session = self.session
        return (
            session is not None
            and session.is_ready
            and self.headers.get(VERSION_HEADER, session.version) == session.version
            and self._has_usual_headers(both=False)
        )

    def _has_usual_headers(self, *, both: bool) -> bool:
        # The SDK decides about a header that is present twice.
        return len(self.headers) == len(self.scope["headers"]) and is_json_request(self.headers, both=both)

    async def send_answer(self, status: int, body: bytes) -> None:
        headers = ((SESSION_HEADER, self.session.client_id.encode()),) if self.session is not None else ()
        await asgi.send_answer(self.send, status, body, *headers)

    async def send_mail_answer(self, body: bytes, receipt: str, request_id: int | str) -> None:
        """Send an answer with mail, and confirm the mail as delivered."""
        outcome: ConnectionOutcome | None = self.scope.get(asgi.OUTCOME_KEY)
        shown = ShownMail(receipt, self.caller, self.connection, request_id, outcome)
        self.receipts.add_answer(shown)
        await self.send_answer(200, body)
        await self.receipts.finish_answer(shown, is_sent=outcome is None or not outcome.is_broken)
