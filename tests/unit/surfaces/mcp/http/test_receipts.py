"""Mail in an answer is marked as delivered when the answer is sent, and as read after a later call of the client."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from maestro.domain.callers import Caller
from maestro.operations import mail, mail_shapes
from maestro.server.app import Server
from maestro.surfaces.mcp.http import receipts
from maestro.surfaces.mcp.http.receipts import MailReceipts, ShownMail


class Outcome:
    is_watched = False
    is_broken = False


class Shown:
    """A server that sends messages to a worker and shows them in answers."""

    def __init__(self, server: Server, boss: Caller, worker: Caller) -> None:
        self.server, self.boss, self.worker = server, boss, worker
        self.receipts = MailReceipts(server)

    async def show(self, *, outcome: Outcome | None = None) -> ShownMail:
        letter = mail_shapes.SendMail(to=["w"], subject="Hi", message="There.")
        self.message = (await self.server.call(mail.SEND, letter, caller=self.boss)).id
        receipt = (await self.server.call(mail.INBOX, mail_shapes.ReadInbox(), caller=self.worker)).receipt
        shown = ShownMail(receipt, self.worker, ("127.0.0.1", 1), 7, outcome)
        self.receipts.add_answer(shown)
        return shown

    async def status(self) -> str:
        request = mail_shapes.OneMessage(id=self.message)
        return str((await self.server.call(mail.STATUS, request, caller=self.boss)).deliveries[0].status)


@pytest.fixture
async def shown(server: Server, join: Callable[..., Any]) -> Shown:
    return Shown(server, await join("boss", mode="coordinate"), await join("w"))


async def test_mail_in_a_sent_answer_is_delivered_and_read_after_the_next_call_of_its_connection(
    shown: Shown,
) -> None:
    await shown.receipts.finish_answer(await shown.show(), is_sent=True)
    assert await shown.status() == "delivered"
    await shown.receipts.confirm_read_mail(shown.worker, ("127.0.0.1", 2))
    assert await shown.status() == "delivered"
    await shown.receipts.confirm_read_mail(shown.worker, ("127.0.0.1", 1))
    assert await shown.status() == "read"


async def test_mail_is_read_after_a_much_later_call_over_another_connection(
    shown: Shown, monkeypatch: pytest.MonkeyPatch
) -> None:
    await shown.receipts.finish_answer(await shown.show(), is_sent=True)
    monkeypatch.setattr(receipts, "_TRANSIT_SECONDS_MAX", 0)
    await shown.receipts.confirm_read_mail(shown.boss, ("127.0.0.1", 2))
    assert await shown.status() == "delivered"  # the call of another caller is no proof
    await shown.receipts.confirm_read_mail(shown.worker, ("127.0.0.1", 2))
    assert await shown.status() == "read"


@pytest.mark.parametrize("loss", ["not sent", "cancelled", "broken"])
async def test_mail_in_a_lost_answer_is_never_marked_as_read(shown: Shown, loss: str) -> None:
    outcome = Outcome()
    answer = await shown.show(outcome=outcome)
    assert outcome.is_watched
    await shown.receipts.finish_answer(answer, is_sent=loss != "not sent")
    if loss == "cancelled":
        shown.receipts.forget_request(7)
    outcome.is_broken = loss == "broken"
    await shown.receipts.confirm_read_mail(shown.worker, ("127.0.0.1", 1))
    assert await shown.status() == ("sent" if loss == "not sent" else "delivered")
