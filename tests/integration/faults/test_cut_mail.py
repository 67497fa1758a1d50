"""Mail too long for an inbox stays on offer until it is shown whole, and stands in nobody's way meanwhile."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from maestro.core import limits
from maestro.domain.callers import Caller
from maestro.domain.messages import ReceiptStep
from maestro.operations import mail
from maestro.operations import mail_shapes as shapes
from maestro.server.app import Server

LONG = "x" * (limits.inbox_body_chars_max + 1)
SECONDS_MAX = 5.0


class Desk:
    """A worker, and someone who writes to it."""

    def __init__(self, server: Server, worker: Caller, other: Caller) -> None:
        self.server = server
        self.worker = worker
        self.other = other

    async def send(self, subject: str, text: str = "short", *, to: str = "w", by: Caller | None = None) -> None:
        request = shapes.SendMail(to=[to], subject=subject, message=text, project=self.worker.project_id or "")
        await self.server.call(mail.SEND, request, caller=by or self.other)

    async def inbox(self, by: Caller | None = None, **how: Any) -> shapes.InboxPage:
        page: shapes.InboxPage = await self.server.call(mail.INBOX, shapes.ReadInbox(**how), caller=by or self.worker)
        return page

    async def take(self, by: Caller | None = None, *, step: ReceiptStep = ReceiptStep.READ) -> list[str]:
        """Look, and say how far it came."""
        page = await self.inbox(by)
        if page.receipt:
            request = shapes.ConfirmReceipt(receipt=page.receipt, step=step)
            await self.server.call(mail.CONFIRM, request, caller=by or self.worker)
        return [message.subject for message in page.messages]

    async def is_woken(self, by: Caller | None = None) -> list[str]:
        """What a wait answers that could go on for long."""
        async with asyncio.timeout(SECONDS_MAX):
            request = shapes.WaitMail(timeout=600_000, debounce=0)
            answer = await self.server.call(mail.WAIT, request, caller=by or self.worker)
        return [message.subject for message in answer.messages]


@pytest.fixture
async def desk(server: Server, join: Any) -> Desk:
    return Desk(server, await join("w"), await join("other"))


async def test_it_does_not_end_every_wait(desk: Desk) -> None:
    await desk.send("long", LONG)
    assert await desk.is_woken() == ["long"]
    assert await desk.take() == ["long"]
    with pytest.raises(TimeoutError):
        await desk.is_woken()
    assert await desk.take() == ["long"]


async def test_many_of_them_do_not_hide_what_comes_after_from_an_inbox(desk: Desk) -> None:
    for number in range(limits.page_items_default + 1):
        await desk.send(f"long {number}", LONG)
    for _ in range(3):
        await desk.take()
    await desk.send("short")
    assert "short" in await desk.take()


async def test_many_of_them_do_not_hide_what_comes_after_from_a_wait(desk: Desk) -> None:
    for number in range(limits.wait_messages_max):
        await desk.send(f"long {number}", LONG)
    for _ in range(5):
        page = await desk.inbox(limit=limits.page_items_max)
        await desk.server.call(mail.CONFIRM, shapes.ConfirmReceipt(receipt=page.receipt), caller=desk.worker)
    await desk.send("short")
    assert "short" in await desk.is_woken()


async def test_pages_of_a_look_skip_nothing(desk: Desk) -> None:
    await desk.send("long", LONG)
    await desk.take()
    for number in range(4):
        await desk.send(f"m{number}")
    seen, cursor = [], ""
    for _ in range(10):
        page = await desk.inbox(peek=True, limit=2, cursor=cursor)
        seen += [message.subject for message in page.messages]
        if page.cursor is None:
            break
        cursor = page.cursor
    assert sorted(seen) == ["long", "m0", "m1", "m2", "m3"]


async def test_what_another_was_shown_of_a_shared_box_wakes_whoever_was_not(desk: Desk, dana: Caller) -> None:
    await desk.send("long", LONG, to="vc", by=dana)
    assert await desk.take(desk.other) == ["long"]
    assert await desk.is_woken() == ["long"]


async def test_what_was_handed_to_a_client_that_died_wakes_the_next(desk: Desk) -> None:
    """As with a short one: it never came out."""
    await desk.send("long", LONG)
    assert await desk.take(step=ReceiptStep.DELIVERED) == ["long"]
    assert await desk.is_woken() == ["long"]
