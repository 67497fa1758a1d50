"""A receipt of shown mail is confirmed as delivered or read, and an invalid receipt is ignored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from maestro.domain.messages import ReceiptStep
from maestro.operations import mail, mail_shapes
from maestro.server.app import Server
from maestro.surfaces.mcp.tools.receipts import confirm_receipt


async def test_confirming_a_receipt_marks_its_mail_as_delivered_or_read(
    server: Server, join: Callable[..., Any]
) -> None:
    boss, worker = await join("boss", mode="coordinate"), await join("w")
    letter = mail_shapes.SendMail(to=["w"], subject="Hi", message="There.")
    sent = await server.call(mail.SEND, letter, caller=boss)
    receipt = (await server.call(mail.INBOX, mail_shapes.ReadInbox(), caller=worker)).receipt

    async def status() -> str:
        found = await server.call(mail.STATUS, mail_shapes.OneMessage(id=sent.id), caller=boss)
        return str(found.deliveries[0].status)

    await confirm_receipt(server, receipt, worker, ReceiptStep.DELIVERED)
    assert await status() == "delivered"
    await confirm_receipt(server, receipt, worker, ReceiptStep.READ)
    assert await status() == "read"


async def test_an_invalid_receipt_is_ignored(server: Server, join: Callable[..., Any]) -> None:
    await confirm_receipt(server, "nonsense", await join("w"), ReceiptStep.READ)
