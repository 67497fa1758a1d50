"""Deliveries: guarded steps, the order of a box, and boxes that several look into."""

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
    is_shared_mailbox,
)
from maestro.domain.tasks import Priority
from maestro.store.base import Store
from maestro.store.repositories.deliveries import MessageFilter
from maestro.testing.clock import FakeClock

Send = Callable[..., Awaitable[int]]
VC = "prj_00000000000000000000000000"
ALL = MessageFilter()


async def take(store: Store, step: ReceiptStep, box: str, seq: int, by: str = "ses_1") -> bool:
    return await store.write(lambda tx: tx.deliveries.apply_step(step, box, seq, via="test", by=by, at=tx.at))


async def got(store: Store, box: str, seq: int) -> Delivery:
    found = await store.read(lambda tx: tx.deliveries.get(box, seq))
    assert found is not None
    return found


async def offered(
    store: Store, box: str, *, reader: str = "ses_1", wanted: MessageFilter = ALL, **more: Any
) -> list[ReceivedMessage]:
    more.setdefault("limit", 100)
    return await store.read(lambda tx: tx.deliveries.list_offered(box, reader=reader, wanted=wanted, **more))


async def places(store: Store, box: str, **more: Any) -> list[int]:
    return [message.seq for message in await offered(store, box, **more)]


async def counted(store: Store, box: str, reader: str) -> int:
    return await store.read(lambda tx: tx.deliveries.count_open(box, reader=reader))


def times(found: Delivery) -> list[datetime | None]:
    return [found.delivered_at, found.read_at, found.acknowledged_at, found.expired_at]


async def test_each_step_has_its_time_and_its_way(store: Store, send: Send, clock: FakeClock) -> None:
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
async def test_a_step_is_taken_only_from_where_the_rules_allow(
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
    assert (await got(store, "ses_2", seq)).status is MessageStatus.SENT  # nobody else's side moves


async def test_reading_counts_as_delivering(store: Store, send: Send) -> None:
    seq = await send("ses_1")
    await take(store, ReceiptStep.READ, "ses_1", seq)
    found = await got(store, "ses_1", seq)
    assert found.delivered_at == found.read_at is not None


async def test_what_was_read_does_not_expire(store: Store, send: Send) -> None:
    seq = await send("ses_1")
    await take(store, ReceiptStep.READ, "ses_1", seq)
    assert not await store.write(lambda tx: tx.deliveries.expire("ses_1", seq, via="x", reason="y", at=tx.at))


async def test_a_step_of_a_message_that_is_not_in_the_box_is_none(store: Store, send: Send) -> None:
    seq = await send("ses_1")
    assert not await take(store, ReceiptStep.READ, "ses_2", seq)
    assert not await take(store, ReceiptStep.READ, "ses_1", seq + 1)


@pytest.mark.parametrize(
    ("box", "step", "stays"),
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
async def test_what_a_step_leaves_on_offer(
    store: Store, send: Send, box: str, step: ReceiptStep, stays: bool
) -> None:
    seq = await send(box)
    await take(store, step, box, seq)
    assert await places(store, box, reader="ses_9") == ([seq] if stays else [])
    assert await store.read(lambda tx: tx.deliveries.has_open(box)) is stays
    assert await counted(store, box, "ses_9") == int(stays)


async def test_a_box_is_sorted_by_urgency_then_time_and_paged_by_both(store: Store, send: Send) -> None:
    order = [Priority.LOW, Priority.CRITICAL, Priority.NORMAL, Priority.CRITICAL, Priority.HIGH, Priority.NORMAL]
    one, two, three, four, five, six = [await send("ses_1", priority=priority) for priority in order]
    wanted = [two, four, five, three, six, one]
    assert await places(store, "ses_1") == wanted
    ranks = list(Priority)
    paged, after = [], (-1, 0)
    while page := await offered(store, "ses_1", after=after, limit=2):
        paged += [message.seq for message in page]
        after = (ranks.index(page[-1].priority), page[-1].seq)
    assert paged == wanted


async def test_a_box_can_be_narrowed(store: Store, send: Send) -> None:
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


async def test_a_box_that_has_a_message_keeps_what_it_has(store: Store, send: Send) -> None:
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


@pytest.mark.parametrize("box", ["mem_1", "wsp_1", VC])
async def test_a_shared_box_offers_to_everyone_but_its_sender(store: Store, send: Send, box: str) -> None:
    assert is_shared_mailbox(box)
    seq = await send(box, sender="ses_3")
    assert [await places(store, box, reader=who) for who in ("ses_1", "ses_2", "ses_3")] == [[seq], [seq], []]


async def test_what_one_has_been_shown_of_a_project_others_still_see(store: Store, send: Send) -> None:
    seq = await send(VC)
    await take(store, ReceiptStep.READ, VC, seq)
    await store.write(lambda tx: tx.deliveries.record_shared_read("ses_1", VC, seq, at=tx.at))
    await store.write(lambda tx: tx.deliveries.record_shared_read("ses_1", VC, seq, at=tx.at))  # once is enough
    assert [await places(store, VC, reader=who) for who in ("ses_1", "ses_2")] == [[], [seq]]
    assert [await counted(store, VC, who) for who in ("ses_1", "ses_2")] == [0, 1]


async def test_a_claimed_conversation_is_offered_to_its_holder_only(store: Store, send: Send) -> None:
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


async def test_a_conversation_can_be_offered_anew_to_those_who_saw_it(store: Store, send: Send) -> None:
    seen, other = await send(VC, thread_id="msg_t"), await send(VC)
    for seq in (seen, other):
        await store.write(lambda tx, seq=seq: tx.deliveries.record_shared_read("ses_2", VC, seq, at=tx.at))
    await store.write(lambda tx: tx.deliveries.offer_thread_again("msg_t"))
    assert await places(store, VC, reader="ses_2") == [seen]
