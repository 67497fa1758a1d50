"""Headers and session of an MCP request over HTTP decide whether the fast path may answer it."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.types import Message

from maestro.domain.callers import Caller, Role
from maestro.server.app import Server
from maestro.surfaces.mcp.fast_path.messages import RpcMessage
from maestro.surfaces.mcp.http.receipts import MailReceipts
from maestro.surfaces.mcp.http.request import McpExchange
from maestro.surfaces.mcp.http.session_registry import ProtocolSession
from maestro.testing.mcp_wire import ACCEPT

WORKER = Caller(Role.WORKER, "w")
USUAL = {b"content-type": b"application/json", b"accept": ACCEPT.encode()}
CALL = RpcMessage(jsonrpc="2.0", method="tools/call", id=1)


@pytest.fixture
def receipts(server: Server) -> MailReceipts:
    return MailReceipts(server)


class Made:
    """An exchange with the messages that the exchange has sent."""

    def __init__(
        self, receipts: MailReceipts, headers: dict[bytes, bytes], session: ProtocolSession | None = None
    ) -> None:
        self.sent: list[Message] = []
        scope: dict[str, Any] = {"method": "POST", "headers": list(headers.items()), "client": ("127.0.0.1", 1)}
        self.exchange = McpExchange(scope, self.receive, self.send, headers, WORKER, session, receipts)

    async def receive(self) -> Message:
        raise AssertionError

    async def send(self, message: Message) -> None:
        self.sent.append(message)


def session_of(receipts: MailReceipts, **fields: Any) -> ProtocolSession:
    return ProtocolSession("id", WORKER, receipts, None, **fields)


def test_only_a_request_without_a_session_and_a_revision_may_initialize(receipts: MailReceipts) -> None:
    assert Made(receipts, USUAL).exchange.may_initialize()
    assert not Made(receipts, USUAL | {b"mcp-protocol-version": b"2025-06-18"}).exchange.may_initialize()
    assert not Made(receipts, USUAL | {b"accept": b"*/*"}).exchange.may_initialize()
    assert not Made(receipts, USUAL, session_of(receipts)).exchange.may_initialize()


def test_a_modern_request_has_headers_that_agree_with_its_body(receipts: MailReceipts) -> None:
    modern = USUAL | {b"mcp-protocol-version": b"2026-07-28", b"mcp-method": b"tools/call"}
    assert Made(receipts, modern).exchange.is_modern(CALL)
    for change in (
        {b"mcp-method": b"tools/list"},
        {b"mcp-session-id": b"x"},
        {b"mcp-protocol-version": b"2025-06-18"},
    ):
        assert not Made(receipts, modern | change).exchange.is_modern(CALL)


def test_an_established_request_has_a_ready_session_with_the_same_revision(receipts: MailReceipts) -> None:
    ready = session_of(receipts, is_ready=True, version=b"2025-06-18")
    assert Made(receipts, USUAL, ready).exchange.is_established()
    assert Made(receipts, USUAL | {b"mcp-protocol-version": b"2025-06-18"}, ready).exchange.is_established()
    assert not Made(receipts, USUAL | {b"mcp-protocol-version": b"2025-03-26"}, ready).exchange.is_established()
    assert not Made(receipts, USUAL, session_of(receipts)).exchange.is_established()
    assert not Made(receipts, USUAL).exchange.is_established()


def test_the_fast_path_does_not_answer_a_request_with_a_doubled_header(receipts: MailReceipts) -> None:
    exchange = Made(receipts, USUAL).exchange
    exchange.scope["headers"].append((b"accept", b"*/*"))
    assert not exchange.may_initialize()


async def test_an_answer_names_the_mcp_session_of_the_client(receipts: MailReceipts) -> None:
    made = Made(receipts, USUAL, session_of(receipts))
    await made.exchange.send_answer(200, b"{}")
    assert (b"mcp-session-id", b"id") in made.sent[0]["headers"]
    without = Made(receipts, USUAL)
    await without.exchange.send_answer(200, b"{}")
    assert b"mcp-session-id" not in dict(without.sent[0]["headers"])
