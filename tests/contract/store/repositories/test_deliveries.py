"""The repository of deliveries: guarded steps, the order of a mailbox, and shared mailboxes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any

import pytest

from maestro.domain.messages import (
    STATUSES_BEFORE_STEP,
    Delivery,
    MessageStatus,
    MessageType,
    ReceiptStep,
    ReceivedMessage,
    SenderKind,
    is_shared_mailbox,
)
from maestro.domain.priorities import LOWEST_RANK, Priority, RankedEnum
from maestro.store.base import Store
from maestro.store.repositories.deliveries import MessageFilter
from maestro.testing.clock import FakeClock

Send = Callable[..., Awaitable[int]]
VC = "prj_00000000000000000000000000"
ALL = MessageFilter()


async def take(store: Store, step: ReceiptStep, mailbox: str, seq: int, by: str = "ses_1") -> bool:
    return await store.write(lambda tx: tx.deliveries.apply_step(step, mailbox, seq, via="test", by=by, at=tx.at))


async def got(store: Store, mailbox: str, seq: int) -> Delivery:
    found = await store.read(lambda tx: tx.deliveries.get(mailbox, seq))
    assert found is not None
    return found


async def offered(
    store: Store, mailbox: str, *, reader: str = "ses_1", wanted: MessageFilter = ALL, **more: Any
) -> list[ReceivedMessage]:
    more.setdefault("limit", 100)
    return await store.read(lambda tx: tx.deliveries.list_offered(mailbox, reader=reader, wanted=wanted, **more))


async def places(store: Store, mailbox: str, **more: Any) -> list[int]:
    return [message.seq for message in await offered(store, mailbox, **more)]


async def counted(store: Store, mailbox: str, reader: str) -> int:
    return await store.read(lambda tx: tx.deliveries.count_open(mailbox, reader=reader))


def times(found: Delivery) -> list[datetime | None]:
    return [found.delivered_at, found.read_at, found.acknowledged_at, found.expired_at]


async def test_each_step_of_a_delivery_records_time_way_and_reader(
    store: Store, send: Send, clock: FakeClock
) -> None:
    seq = await send("ses_1")
    moments = [clock.now()]
    assert times(await got(store, "ses_1", seq)) == [None] * 4
    for step in ReceiptStep:
        clock.advance(1)
        moments.append(clock.now())
        assert await take(store, step, "ses_1", seq, by=f"by-{step}")
    found = await got(store, "ses_1", seq)
    assert (found.status, found.via, found.by) == (MessageStatus.ACKNOWLEDGED, "test", "by-acknowledged")
    assert times(found) == [*moments[1:], None]


@pytest.mark.parametrize("step", ReceiptStep)
@pytest.mark.parametrize("status", MessageStatus)
async def test_a_step_succeeds_only_from_the_statuses_that_the_rules_allow(
    store: Store, send: Send, status: MessageStatus, step: ReceiptStep
) -> None:
    seq = await send("ses_1", "ses_2")
    if status is MessageStatus.EXPIRED:
        assert await store.write(lambda tx: tx.deliveries.expire("ses_1", seq, via="x", reason="y", at=tx.at))
    elif status is not MessageStatus.SENT:
        await take(store, ReceiptStep(status.value), "ses_1", seq)
    before = await got(store, "ses_1", seq)
    assert before.status is status
    allowed = status in STATUSES_BEFORE_STEP[step]
    assert await take(store, step, "ses_1", seq) is allowed
    after = await got(store, "ses_1", seq)
    assert after.status is (MessageStatus(step.value) if allowed else status)
    assert after == before or allowed
    assert (await got(store, "ses_2", seq)).status is MessageStatus.SENT  # the other mailbox does not change


async def test_reading_a_message_also_marks_the_delivery_as_delivered(store: Store, send: Send) -> None:
    seq = await send("ses_1")
    await take(store, ReceiptStep.READ, "ses_1", seq)
    found = await got(store, "ses_1", seq)
    assert found.delivered_at == found.read_at is not None


async def test_a_delivery_that_was_read_does_not_expire(store: Store, send: Send) -> None:
    seq = await send("ses_1")
    await take(store, ReceiptStep.READ, "ses_1", seq)
    assert not await store.write(lambda tx: tx.deliveries.expire("ses_1", seq, via="x", reason="y", at=tx.at))


async def test_a_step_fails_for_a_message_that_is_not_in_the_mailbox(store: Store, send: Send) -> None:
    seq = await send("ses_1")
    assert not await take(store, ReceiptStep.READ, "ses_2", seq)
    assert not await take(store, ReceiptStep.READ, "ses_1", seq + 1)


@pytest.mark.parametrize(
    ("mailbox", "step", "stays"),
    [
        ("ses_1", ReceiptStep.DELIVERED, True),
        ("ses_1", ReceiptStep.READ, False),
        ("human", ReceiptStep.READ, False),
        ("mem_1", ReceiptStep.READ, False),
        ("wsp_1", ReceiptStep.READ, False),
        (VC, ReceiptStep.DELIVERED, True),
        (VC, ReceiptStep.READ, True),
        (VC, ReceiptStep.ACKNOWLEDGED, False),
    ],
)
async def test_a_step_leaves_the_delivery_open_or_closes_the_delivery(
    store: Store, send: Send, mailbox: str, step: ReceiptStep, stays: bool
) -> None:
    seq = await send(mailbox)
    await take(store, step, mailbox, seq)
    assert await places(store, mailbox, reader="ses_9") == ([seq] if stays else [])
    assert await store.read(lambda tx: tx.deliveries.has_open(mailbox)) is stays
    assert await counted(store, mailbox, "ses_9") == int(stays)


class LaterPriority(RankedEnum):
    """A priority below all present priorities, as a later version may add."""

    TRIVIAL = "trivial", LOWEST_RANK + 1


async def test_a_mailbox_with_mail_of_any_priority_has_an_open_delivery(store: Store, send: Send) -> None:
    assert not await store.read(lambda tx: tx.deliveries.has_open("ses_1"))
    await send("ses_1", priority=LaterPriority.TRIVIAL)
    assert await store.read(lambda tx: tx.deliveries.has_open("ses_1"))


async def test_a_mailbox_is_sorted_and_paged_by_priority_and_time(store: Store, send: Send) -> None:
    order = [Priority.LOW, Priority.CRITICAL, Priority.NORMAL, Priority.CRITICAL, Priority.HIGH, Priority.NORMAL]
    one, two, three, four, five, six = [await send("ses_1", priority=priority) for priority in order]
    wanted = [two, four, five, three, six, one]
    assert await places(store, "ses_1") == wanted
    paged, after = [], (-1, 0)
    while page := await offered(store, "ses_1", after=after, limit=2):
        paged += [message.seq for message in page]
        after = (page[-1].priority.rank, page[-1].seq)
    assert paged == wanted


async def test_the_lists_of_a_mailbox_filter_by_type_task_and_priority(store: Store, send: Send) -> None:
    query = await send("ses_1", type=MessageType.QUERY, priority=Priority.HIGH)
    about = await send("ses_1", task_id="tsk_1")
    low = await send("ses_1", priority=Priority.LOW)
    assert await places(store, "ses_1", wanted=MessageFilter(type=MessageType.QUERY)) == [query]
    assert await places(store, "ses_1", wanted=MessageFilter(task_id="tsk_1")) == [about]
    assert await places(store, "ses_1", wanted=MessageFilter(priority=Priority.NORMAL)) == [query, about]
    assert await places(store, "ses_1", wanted=MessageFilter(priority=Priority.CRITICAL)) == []
    await take(store, ReceiptStep.READ, "ses_1", query)
    history = await store.read(lambda tx: tx.deliveries.list_all("ses_1", wanted=ALL, before=2**62, limit=10))
    assert [(one.seq, one.status) for one in history] == [
        (low, MessageStatus.SENT),
        (about, MessageStatus.SENT),
        (query, MessageStatus.READ),
    ]
    older = await store.read(lambda tx: tx.deliveries.list_all("ses_1", wanted=ALL, before=about, limit=10))
    assert [one.seq for one in older] == [query]


@pytest.mark.parametrize("mailbox", ["ses_1", VC])
async def test_a_filter_by_the_kind_of_sender_holds_for_all_lists(store: Store, send: Send, mailbox: str) -> None:
    of_person = await send(mailbox, sender="dana", sender_kind=SenderKind.PERSON)
    of_session = await send(mailbox)
    for kind, seq in ((SenderKind.PERSON, of_person), (SenderKind.SESSION, of_session)):
        wanted = MessageFilter(sender_kind=kind)
        assert await places(store, mailbox, wanted=wanted) == [seq]
        history = await store.read(
            lambda tx, wanted=wanted: tx.deliveries.list_all(mailbox, wanted=wanted, before=2**62, limit=10)
        )
        assert [message.seq for message in history] == [seq]


async def test_a_second_insert_of_a_message_leaves_the_delivery_unchanged(store: Store, send: Send) -> None:
    seq = await send("ses_1")
    await take(store, ReceiptStep.READ, "ses_1", seq)
    again: dict[str, Any] = {
        "priority": Priority.LOW,
        "type": MessageType.QUERY,
        "project_id": None,
        "reason": "again",
    }
    await store.write(lambda tx: tx.deliveries.insert("ses_1", seq, **again))
    assert (await got(store, "ses_1", seq)).status is MessageStatus.READ and await places(store, "ses_1") == []


@pytest.mark.parametrize("mailbox", ["mem_1", "wsp_1", VC])
async def test_a_shared_mailbox_offers_a_message_to_every_reader_except_the_sender(
    store: Store, send: Send, mailbox: str
) -> None:
    assert is_shared_mailbox(mailbox)
    seq = await send(mailbox, sender="ses_3")
    assert [await places(store, mailbox, reader=who) for who in ("ses_1", "ses_2", "ses_3")] == [[seq], [seq], []]


async def test_a_shared_read_hides_a_message_of_a_project_only_from_that_reader(store: Store, send: Send) -> None:
    seq = await send(VC)
    await take(store, ReceiptStep.READ, VC, seq)
    await store.write(lambda tx: tx.deliveries.record_shared_read("ses_1", VC, seq, at=tx.at))
    await store.write(lambda tx: tx.deliveries.record_shared_read("ses_1", VC, seq, at=tx.at))  # has no effect
    assert [await places(store, VC, reader=who) for who in ("ses_1", "ses_2")] == [[], [seq]]
    assert [await counted(store, VC, who) for who in ("ses_1", "ses_2")] == [0, 1]


async def test_a_claimed_thread_is_offered_to_the_holder_only(store: Store, send: Send) -> None:
    first = await send(VC, thread_id="msg_t")
    second = await send(VC, thread_id="msg_t")
    assert await store.write(lambda tx: tx.deliveries.claim_thread("msg_t", "ses_1", at=tx.at))
    assert not await store.write(lambda tx: tx.deliveries.claim_thread("msg_t", "ses_2", at=tx.at))
    assert await store.read(
        lambda tx: (tx.deliveries.thread_holder("msg_t"), tx.deliveries.threads_held_by("ses_1", limit=5))
    ) == (
        "ses_1",
        ["msg_t"],
    )
    assert await places(store, VC, reader="ses_1") == [first, second]
    assert await places(store, VC, reader="ses_2") == [] and await counted(store, VC, "ses_2") == 0
    assert not await store.write(lambda tx: tx.deliveries.release_thread("msg_t", "ses_2"))
    assert await store.write(lambda tx: tx.deliveries.release_thread("msg_t", "ses_1"))
    assert await places(store, VC, reader="ses_2") == [first, second]
    assert await store.read(lambda tx: tx.deliveries.threads_held_by("ses_1", limit=5)) == []


async def test_a_thread_can_be_offered_again_to_the_sessions_that_read_the_thread(store: Store, send: Send) -> None:
    seen, other = await send(VC, thread_id="msg_t"), await send(VC)
    for seq in (seen, other):
        await store.write(lambda tx, seq=seq: tx.deliveries.record_shared_read("ses_2", VC, seq, at=tx.at))
    await store.write(lambda tx: tx.deliveries.offer_thread_again("msg_t"))
    assert await places(store, VC, reader="ses_2") == [seen]


async def test_one_call_inserts_a_delivery_for_each_of_several_mailboxes(store: Store, send: Send) -> None:
    seq = await send("ses_0")
    to = [("ses_2", VC, "moved"), ("ses_1", None, None), ("ses_1", None, "again")]
    values: dict[str, Any] = {"priority": Priority.HIGH, "type": MessageType.QUERY}
    await store.write(lambda tx: tx.deliveries.insert_many(seq, to, **values))
    found = await store.read(lambda tx: tx.deliveries.of_message(seq))
    assert [(delivery.mailbox, delivery.recipient, delivery.reason) for delivery in found] == [
        ("ses_0", "ses_0", None),
        ("ses_1", "ses_1", None),
        ("ses_2", "ses_2", "moved"),
    ]
    assert all(delivery.status is MessageStatus.SENT and delivery.via is None for delivery in found)


async def test_a_closed_delivery_is_no_longer_offered(store: Store, send: Send) -> None:
    seq = await send("ses_1")
    await store.write(lambda tx: tx.deliveries.close("ses_1", seq))
    assert await places(store, "ses_1") == [] and (await got(store, "ses_1", seq)).status is MessageStatus.SENT


@pytest.mark.parametrize("mailbox", ["ses_1", VC])
async def test_partly_shown_messages_are_listed_separately(store: Store, send: Send, mailbox: str) -> None:
    first, second = await send(mailbox), await send(mailbox, priority=Priority.HIGH)

    async def show(seq: int) -> None:
        if mailbox == VC:
            values: dict[str, Any] = {"is_partly_shown": True}
            await store.write(lambda tx: tx.deliveries.record_shared_read("ses_1", VC, seq, at=tx.at, **values))
        else:
            await store.write(lambda tx: tx.deliveries.mark_partly_shown(mailbox, seq))

    async def partly_shown(**more: Any) -> list[int]:
        values = {"reader": "ses_1", "wanted": ALL, "limit": 9} | more
        found = await store.read(lambda tx: tx.deliveries.list_partly_shown(mailbox, **values))
        assert all(message.is_partly_shown for message in found)
        return [message.seq for message in found]

    await show(first)
    assert (await places(store, mailbox), await partly_shown()) == ([second], [first])
    await show(second)
    assert (await places(store, mailbox), await partly_shown()) == ([], [second, first])
    assert await partly_shown(limit=1) == [second]
    assert await partly_shown(after=(Priority.HIGH.rank, second)) == [first]
    assert await counted(store, mailbox, "ses_1") == 2


async def test_the_open_shared_mailboxes_of_a_thread_are_listed(store: Store, send: Send) -> None:
    await send("ses_1", VC, thread_id="msg_t")
    seq = await send("wsp_1", thread_id="msg_t")

    async def shared() -> list[str]:
        return sorted(await store.read(lambda tx: tx.deliveries.shared_mailboxes_of_thread("msg_t")))

    assert await shared() == [VC, "wsp_1"]
    await store.write(lambda tx: tx.deliveries.close("wsp_1", seq))
    assert await shared() == [VC]
    assert await store.read(lambda tx: tx.deliveries.has_thread_in_mailbox("msg_t", "wsp_1"))
    assert not await store.read(lambda tx: tx.deliveries.has_thread_in_mailbox("msg_t", "ses_2"))
