"""The relay passes the answer of the SDK to the client, and records shown mail before the body is sent."""

from __future__ import annotations

import pytest
from starlette.types import Message

from maestro.domain.callers import Caller, Role
from maestro.server.app import Server
from maestro.surfaces.mcp.http.receipts import MailReceipts
from maestro.surfaces.mcp.http.sdk_connection import AnswerRelay, HttpConnection, record_shown_mail

WORKER = Caller(Role.WORKER, "w")
START: Message = {"type": "http.response.start", "status": 200, "headers": []}


def body(*, more: bool) -> Message:
    return {"type": "http.response.body", "body": b"x", "more_body": more}


async def test_a_header_sets_the_longest_wait_of_a_client() -> None:
    connection = HttpConnection(WORKER, {b"maestro-mcp-wait-seconds": b"7"}, None, hang_up=lambda: None)
    assert connection.call_options(1, "wait", {}, "b").seconds_max == 7
    assert await connection.identify_caller("b") is WORKER


async def test_the_relay_is_broken_if_the_client_leaves_before_the_end_of_the_answer() -> None:
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    for more, is_broken in ((True, True), (False, False)):
        relay = AnswerRelay(receive, send, rename_session=lambda message: {**message, "status": 201})
        await relay.send(START)
        await relay.send(body(more=more))
        await relay.receive()
        assert relay.is_broken is is_broken
    assert sent[0]["status"] == 201


@pytest.mark.parametrize("shows_mail", [True, False])
async def test_shown_mail_is_recorded_before_the_body_is_sent(server: Server, shows_mail: bool) -> None:
    receipts = MailReceipts(server)
    connection = HttpConnection(WORKER, {}, None, hang_up=lambda: None)
    if shows_mail:
        connection.note_shown_mail(7, "receipt", WORKER)
    counts: list[int] = []

    async def send(message: Message) -> None:
        counts.append(len(receipts._shown))

    async def receive() -> Message:
        raise AssertionError

    relay = AnswerRelay(receive, send, rename_session=lambda message: message)
    relay.before_body = lambda: record_shown_mail(connection, WORKER, {"type": "http"}, receipts)
    for message in (START, body(more=True), body(more=False)):
        await relay.send(message)
    assert counts == ([0, 1, 1] if shows_mail else [0, 0, 0])
    assert (relay.shown is not None) is shows_mail
