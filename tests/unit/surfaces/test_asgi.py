"""The ASGI helpers read bodies within a limit and tokens, send answers, and cancel work when the client leaves."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from starlette.types import Message, Receive

from maestro.core import errors, limits
from maestro.surfaces import asgi

DISCONNECT: Message = {"type": "http.disconnect"}


def receiving(*messages: Message) -> Receive:
    """Return a `receive` function that returns the messages one after another."""
    remaining = iter(messages)

    async def receive() -> Message:
        return next(remaining)

    return receive


def part(body: bytes, *, more: bool) -> Message:
    return {"type": "http.request", "body": body, "more_body": more}


@pytest.mark.parametrize(
    ("header", "token"),
    [
        (b"Bearer mst_1", "mst_1"),
        (b"bearer   mst_1 ", "mst_1"),
        (b"Basic mst_1", ""),
        (b"Bearer", ""),
        (b"Bearer  ", ""),
        (b"", ""),
    ],
)
def test_only_a_bearer_token_is_read_from_the_authorization_header(header: bytes, token: str) -> None:
    assert asgi.read_bearer_token({b"authorization": header}) == token
    assert asgi.read_bearer_token({}) == ""


async def test_the_parts_of_a_body_are_joined() -> None:
    assert await asgi.read_body(receiving(part(b"all", more=False))) == b"all"
    assert (
        await asgi.read_body(receiving(part(b"a", more=True), part(b"", more=True), part(b"b", more=False))) == b"ab"
    )
    assert await asgi.read_body(receiving({"type": "http.request"})) == b""


async def test_a_body_above_the_limit_is_refused() -> None:
    assert await asgi.read_body(receiving(part(b"12", more=True), part(b"34", more=False)), bytes_max=4) == b"1234"
    with pytest.raises(errors.TooLarge, match="at most 3 bytes"):
        await asgi.read_body(receiving(part(b"12", more=True), part(b"34", more=True)), bytes_max=3)
    with pytest.raises(errors.TooLarge, match=r"^Only 3$"):
        await asgi.require_body(receiving(part(b"1234", more=False)), bytes_max=3, too_large="Only {bytes_max}")
    with pytest.raises(errors.TooLarge):
        await asgi.read_body(receiving(part(b"x" * (limits.body_bytes_max + 1), more=False)))


async def test_an_incomplete_body_is_read_as_no_body() -> None:
    assert await asgi.read_body(receiving(part(b"a", more=True), DISCONNECT)) is None
    with pytest.raises(errors.Invalid, match="ended before its body was complete"):
        await asgi.require_body(receiving(DISCONNECT))


async def test_a_replayed_body_is_received_before_later_messages() -> None:
    receive = asgi.replay_body(b"again", receiving(DISCONNECT))
    assert await receive() == part(b"again", more=False)
    assert await receive() == DISCONNECT


async def test_an_answer_has_the_content_length_and_the_given_headers() -> None:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    await asgi.send_answer(send, 405, b"{}", (b"allow", b"POST"))
    assert [message["type"] for message in sent] == ["http.response.start", "http.response.body"]
    assert sent[0]["status"] == 405 and sent[1]["body"] == b"{}"
    assert sent[0]["headers"] == [asgi.JSON_HEADER, (b"content-length", b"2"), (b"allow", b"POST")]


async def test_the_result_of_work_is_returned_while_the_client_is_connected() -> None:
    async def work() -> str:
        return "done"

    async def stay() -> Message:
        return await asyncio.Future[Message]()

    assert await asgi.await_while_connected(work(), stay, closed="gone") == "done"


async def test_an_error_of_the_work_reaches_the_caller() -> None:
    async def work() -> str:
        raise errors.NotFound("missing")

    async def stay() -> Message:
        return await asyncio.Future[Message]()

    with pytest.raises(errors.NotFound):
        await asgi.await_while_connected(work(), stay, closed="gone")


async def test_work_is_cancelled_and_awaited_when_the_client_leaves() -> None:
    steps: list[str] = []
    started = asyncio.Event()

    async def work() -> Any:
        try:
            started.set()
            await asyncio.Future()
        finally:
            steps.append("ended")

    async def leave() -> Message:
        await started.wait()
        if not steps:
            steps.append("part")
            return part(b"", more=False)
        return DISCONNECT

    with pytest.raises(errors.TimedOut, match=r"^The client left$"):
        await asgi.await_while_connected(work(), leave, closed="The client left")
    assert steps == ["part", "ended"]


def test_the_listener_is_told_about_an_identified_caller() -> None:
    told: list[bool] = []
    asgi.mark_identified({"type": "http", asgi.MARK_IDENTIFIED_KEY: lambda: told.append(True)})
    asgi.mark_identified({"type": "http"})
    assert told == [True]
