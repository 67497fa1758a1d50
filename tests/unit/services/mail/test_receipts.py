"""A receipt confirms mail only for its recipients, and the confirmation sets the status of the deliveries."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from maestro.core import errors, limits
from maestro.domain.messages import HUMAN_MAILBOX, ReceiptStep
from maestro.operations import mail_shapes as ops
from maestro.services.mail import receipts
from maestro.services.mail.receipts import ReceiptWaits

World = Any
VC, OTHER = "prj_00000000000000000000000000", "prj_00000000000000000000000001"


async def inbox(world: World, caller: Any, **fields: Any) -> ops.InboxPage:
    found: ops.InboxPage = await world.reading.read_inbox(caller, ops.ReadInbox(**fields))
    return found


async def confirm(world: World, caller: Any, receipt: str, **fields: Any) -> int:
    made: ops.ConfirmedReceipt = await world.do(
        receipts.confirm, ops.ConfirmReceipt(receipt=receipt, **fields), by=caller
    )
    return made.count


async def test_reading_an_inbox_alone_marks_no_mail(world: World) -> None:
    worker = await world.join("w")
    sent = await world.send(None, "w")
    for _ in range(2):
        assert len((await inbox(world, worker)).messages) == 1
    assert await world.states(sent) == {worker.name: "sent"}


async def test_the_cursor_in_the_next_call_confirms_the_mail_of_the_page(world: World) -> None:
    worker = await world.join("w")
    first, second = await world.send(None, "w", subject="1"), await world.send(None, "w", subject="2")
    page = await inbox(world, worker, limit=1)
    assert [one.subject for one in page.messages] == ["1"] and page.more and page.cursor == page.receipt
    following = await inbox(world, worker, cursor=page.cursor)
    assert [one.subject for one in following.messages] == ["2"] and not following.more
    assert await world.states(first) == {worker.name: "read"}
    assert await world.states(second) == {worker.name: "sent"}
    assert (await inbox(world, worker, cursor=following.cursor)).messages == []
    assert await world.states(second) == {worker.name: "read"}
    read = [event for event in await world.log() if event.kind == "mail.read"]
    assert [(event.subject, event.data["by"], event.data["mailbox"]) for event in read] == [
        (first.id, worker.name, worker.name),
        (second.id, worker.name, worker.name),
    ]


async def test_a_confirmation_may_set_the_step_delivered_and_stores_the_channel(world: World) -> None:
    worker = await world.join("w")
    sent = await world.send(None, "w")
    receipt = (await inbox(world, worker)).receipt
    assert await confirm(world, worker, receipt, step=ReceiptStep.DELIVERED, via="hook") == 1
    assert (
        await confirm(world, worker, receipt, step=ReceiptStep.DELIVERED) == 0
    )  # the second confirmation changes nothing
    (one,) = await world.store.read(lambda tx: tx.deliveries.of_message(1))
    assert (one.status, one.via, one.by) == ("delivered", "hook", worker.name)
    assert len(await world.unread(worker)) == 1  # mail that is delivered but not read is offered again
    assert await confirm(world, worker, receipt) == 1
    assert await world.states(sent) == {worker.name: "read"}


async def test_mail_with_a_cut_body_stays_delivered_until_the_whole_body_is_shown(world: World) -> None:
    worker = await world.join("w")
    long = "x" * (limits.inbox_body_chars_max + 1)
    sent = await world.send(None, "w", message=long)
    page = await inbox(world, worker)
    assert page.messages[0].truncated and page.messages[0].body == long[: limits.inbox_body_chars_max]
    await confirm(world, worker, page.receipt)
    assert await world.states(sent) == {worker.name: "delivered"}
    shown = await world.store.read(lambda tx: world.reading.show_message(tx, worker, ops.OneMessage(id=sent.id)))
    assert shown.body == long
    await confirm(world, worker, shown.receipt)
    assert await world.states(sent) == {worker.name: "read"} and await world.unread(worker) == []


async def test_a_body_of_the_largest_inbox_size_is_shown_whole(world: World) -> None:
    worker = await world.join("w")
    sent = await world.send(None, "w", message="ä" * limits.inbox_body_chars_max)
    (one,) = await world.read(worker)
    assert one.body == "ä" * limits.inbox_body_chars_max and not one.truncated
    assert await world.states(sent) == {worker.name: "read"}


async def test_a_page_cuts_the_body_that_exceeds_the_size_of_the_page(world: World) -> None:
    worker = await world.join("w")
    body = "x" * limits.inbox_body_chars_max
    count = limits.inbox_chars_max // len(body) + 1
    for _ in range(count):
        await world.send(None, "w", message=body)
    page = await inbox(world, worker)
    assert [one.truncated for one in page.messages] == [False] * (count - 1) + [True]
    assert sum(len(one.body) for one in page.messages) <= limits.inbox_chars_max
    await confirm(world, worker, page.receipt)
    assert len(await world.unread(worker)) == 1


async def test_a_peek_gives_no_receipt_and_continues_by_its_cursor(world: World) -> None:
    worker = await world.join("w")
    for number in range(3):
        await world.send(None, "w", subject=str(number))
    page = await inbox(world, worker, peek=True, limit=2)
    assert page.receipt == "" and page.more
    rest = await inbox(world, worker, peek=True, limit=2, cursor=page.cursor)
    assert [one.subject for one in rest.messages] == ["2"] and rest.cursor is None
    assert len(await world.unread(worker)) == 3


async def test_mail_in_the_mailbox_of_another_session_cannot_be_confirmed(world: World) -> None:
    worker, peer = await world.join("w"), await world.join("x")
    sent = await world.send(None, "w")
    receipt = (await inbox(world, worker)).receipt
    assert await confirm(world, peer, receipt) == 0 and await confirm(world, world.dana, receipt) == 0
    assert await world.states(sent) == {worker.name: "sent"}


@pytest.mark.parametrize(
    "forged", ["r1:", "r1:s", "r1:szz", "r1:s1,", "r1:s1~~", "x", "", "r1:s" + "f" * 16, "r1:S1"]
)
async def test_an_invalid_receipt_is_refused(world: World, forged: str) -> None:
    worker = await world.join("w")
    sent = await world.send(None, "w")
    with pytest.raises(errors.Invalid):
        await confirm(world, worker, forged)
    assert await world.states(sent) == {worker.name: "sent"}


@pytest.mark.parametrize("forged", ["r1:s7fff", "r1:h1", "r1:p2", "r1:m1", "r1:w1", "r1:z1"])
async def test_a_forged_receipt_changes_nothing(world: World, forged: str) -> None:
    worker = await world.join("w")
    sent = await world.send(None, "w", "human")
    assert await confirm(world, worker, forged) == 0
    assert set((await world.states(sent)).values()) == {"sent"}


async def test_only_recipients_acknowledge_mail(world: World) -> None:
    worker, peer = await world.join("w"), await world.join("x")
    one, two = await world.send(None, "w"), await world.send(None, "w", "human")
    ack = ops.AcknowledgeMail(ids=[one.id, two.id, one.id])
    assert (await world.do(receipts.acknowledge_messages, ack, by=worker)).messages == [one.id, two.id]
    assert await world.states(two) == {worker.name: "acknowledged", HUMAN_MAILBOX: "sent"}
    assert await world.unread(worker) == []
    with pytest.raises(errors.NotFound):
        await world.do(receipts.acknowledge_messages, ops.AcknowledgeMail(ids=[one.id]), by=peer)
    await world.do(receipts.acknowledge_messages, ack, by=worker)  # a second acknowledgement changes nothing
    assert [event.kind for event in await world.log()].count("mail.acknowledged") == 2


async def test_an_acknowledgement_with_a_wrong_id_acknowledges_no_message(world: World) -> None:
    worker = await world.join("w")
    sent = await world.send(None, "w")
    with pytest.raises(errors.NotFound):
        await world.do(receipts.acknowledge_messages, ops.AcknowledgeMail(ids=[sent.id, "msg_none"]), by=worker)
    assert await world.states(sent) == {worker.name: "sent"}


async def test_an_answer_acknowledges_the_answered_message(world: World) -> None:
    boss = await world.boss("boss")
    worker = await world.join("w", under=boss)
    sent = await world.send(boss, "w", "human")
    await world.reply(worker, sent)
    assert await world.states(sent) == {worker.name: "acknowledged", HUMAN_MAILBOX: "sent"}
    (one,) = [d for d in await world.store.read(lambda tx: tx.deliveries.of_message(1)) if d.mailbox == worker.name]
    assert one.via == "reply" and one.acknowledged_at is not None and one.read_at is None


async def test_mail_in_two_mailboxes_of_a_session_is_shown_once(world: World) -> None:
    ada = await world.member("ada")
    worker = await world.join("w", member="ada")
    sent = await world.send(None, "w", "@ada", "vc")
    assert [message.mailbox for message in await world.read(worker)] == [worker.name]
    assert await world.unread(worker) == []
    assert await world.states(sent) == {worker.name: "read", ada.id: "read", VC: "read"}


async def test_a_delivery_in_a_shared_mailbox_names_its_reader(world: World) -> None:
    ada = await world.member("ada")
    one, two = await world.join("one", member="ada"), await world.join("two", member="ada")
    sent = await world.send(None, "@ada")
    assert len(await world.unread(one)) == len(await world.unread(two)) == 1
    await world.read(one)
    (delivery,) = await world.store.read(lambda tx: tx.deliveries.of_message(1))
    assert (delivery.mailbox, delivery.status, delivery.by) == (ada.id, "read", one.name)
    assert await world.unread(two) == [] and await world.states(sent) == {ada.id: "read"}


async def test_the_status_of_a_message_names_each_recipient(world: World) -> None:
    await world.member("ada")
    worker = await world.join("w")
    sent = await world.send(worker, "@ada", "vc", "dave/vc", "human", "w")
    status = await world.store.read(lambda tx: receipts.show_status(tx, worker, ops.OneMessage(id=sent.id)))
    assert {one.name for one in status.deliveries} == {"@ada", "vc", "dave/vc", "human", "w"}
    with pytest.raises(errors.NotFound):
        await world.store.read(lambda tx: receipts.show_status(tx, worker, ops.OneMessage(id="msg_none")))


def waiting(world: World, sent: ops.SentMail, step: str, timeout: int = 20_000) -> asyncio.Task[ops.SentMail]:
    request = ops.SendMail(subject="s", message="b", wait_for=ReceiptStep(step), timeout=timeout)
    return asyncio.create_task(ReceiptWaits(world.store, world.hub).wait_for_receipts(world.dana, request, sent))


async def test_a_sender_waits_until_all_recipients_have_read_the_mail(world: World) -> None:
    one, two = await world.join("one"), await world.join("two")
    sent = await world.send(None, "one", "two")
    waits = waiting(world, sent, "read")
    await world.read(one)
    await asyncio.sleep(0)
    assert not waits.done()
    await world.read(two)
    answered = await waits
    assert [delivery.status for delivery in answered.deliveries] == ["read", "read"]
    assert (await waiting(world, sent, "delivered")).id == sent.id  # mail that is read counts as delivered


async def test_mail_that_is_not_read_in_time_is_stored_but_not_confirmed(world: World) -> None:
    await world.join("w")
    sent = await world.send(None, "w")
    with pytest.raises(errors.NotConfirmed) as refused:
        await waiting(world, sent, "acknowledged", timeout=20)
    assert refused.value.data["id"] == sent.id and "w sent" in refused.value.message
    assert f"maestro mail status {sent.id}" in refused.value.hint


async def test_a_wait_for_expired_mail_ends_without_a_confirmation(world: World) -> None:
    worker = await world.join("w")
    sent = await world.send(None, "w")
    waits = waiting(world, sent, "read")
    await world.store.write(lambda tx: tx.deliveries.expire(worker.name, 1, via="ended", reason="x", at=tx.at))
    with pytest.raises(errors.NotConfirmed):
        await waiting(world, sent, "read")
    waits.cancel()
