"""Mail that is too long for the inbox stays open until it is shown completely, and does not hide later mail."""

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
    """A worker, and a session that sends mail to the worker."""

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
        """Read the inbox and confirm it with a step; return the subjects."""
        page = await self.inbox(by)
        if page.receipt:
            request = shapes.ConfirmReceipt(receipt=page.receipt, step=step)
            await self.server.call(mail.CONFIRM, request, caller=by or self.worker)
        return [message.subject for message in page.messages]

    async def is_woken(self, by: Caller | None = None) -> list[str]:
        """Return the subjects of the mail that ends a long wait."""
        async with asyncio.timeout(SECONDS_MAX):
            request = shapes.WaitMail(timeout=600_000, debounce=0)
            answer = await self.server.call(mail.WAIT, request, caller=by or self.worker)
        return [message.subject for message in answer.messages]


@pytest.fixture
async def desk(server: Server, join: Any) -> Desk:
    return Desk(server, await join("w"), await join("other"))


async def test_long_mail_that_was_shown_ends_no_further_wait(desk: Desk) -> None:
    await desk.send("long", LONG)
    assert await desk.is_woken() == ["long"]
    assert await desk.take() == ["long"]
    with pytest.raises(TimeoutError):
        await desk.is_woken()
    assert await desk.take() == ["long"]


async def test_many_long_messages_do_not_hide_later_mail_from_the_inbox(desk: Desk) -> None:
    for number in range(limits.page_items_default + 1):
        await desk.send(f"long {number}", LONG)
    for _ in range(3):
        await desk.take()
    await desk.send("short")
    assert "short" in await desk.take()


async def test_many_long_messages_do_not_hide_later_mail_from_a_wait(desk: Desk) -> None:
    for number in range(limits.wait_messages_max):
        await desk.send(f"long {number}", LONG)
    for _ in range(5):
        page = await desk.inbox(limit=limits.page_items_max)
        await desk.server.call(mail.CONFIRM, shapes.ConfirmReceipt(receipt=page.receipt), caller=desk.worker)
    await desk.send("short")
    assert "short" in await desk.is_woken()


async def test_the_pages_of_a_peek_skip_no_message(desk: Desk) -> None:
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


async def test_long_mail_that_one_reader_of_a_mailbox_was_shown_ends_the_wait_of_another_reader(
    desk: Desk, dana: Caller
) -> None:
    await desk.send("long", LONG, to="vc", by=dana)
    assert await desk.take(desk.other) == ["long"]
    assert await desk.is_woken() == ["long"]


async def test_long_mail_that_was_delivered_but_not_shown_ends_the_next_wait(desk: Desk) -> None:
    """The client ended before it showed the mail. The rule for short mail is the same."""
    await desk.send("long", LONG)
    assert await desk.take(step=ReceiptStep.DELIVERED) == ["long"]
    assert await desk.is_woken() == ["long"]
