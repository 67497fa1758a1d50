"""The hub passes each event to the subscriptions with a matching key; a subscription has a bounded queue."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from maestro.core import limits
from maestro.domain.events import Event, EventKind
from maestro.events.hub import EVERYTHING, Hub, Subscription, mailbox_key
from maestro.testing.clock import FakeClock

AT = FakeClock().now()


def make_event(
    seq: int = 1, *, subject: str = "tsk_1", project: str | None = "prj_1", data: dict[str, Any] | None = None
) -> Event:
    return Event(seq, AT, project, EventKind.TASK_CREATED, 1, "dana", subject, data or {})


@pytest.mark.parametrize(
    ("key", "is_wanted"),
    [
        ("tsk_1", True),
        ("prj_1", True),
        (EVERYTHING, True),
        (mailbox_key("ses_1"), True),
        ("tsk_2", False),
        ("prj_2", False),
        ("ses_1", False),
        (mailbox_key("ses_3"), False),
        (mailbox_key("tsk_1"), False),
    ],
)
def test_an_event_goes_to_the_subscriptions_for_its_keys(key: str, is_wanted: bool) -> None:
    hub = Hub()
    event = make_event(data={"to": ["ses_1", "ses_2"]})
    with hub.subscribe([key]) as subscription:
        hub.publish([event])
    assert subscription.take_events() == ([event] if is_wanted else [])


def test_an_event_without_a_project_goes_to_the_subscriptions_for_its_subject() -> None:
    hub = Hub()
    with hub.subscribe(["tsk_1"]) as subscription:
        hub.publish([make_event(project=None)])
    assert len(subscription.take_events()) == 1


def test_a_subscription_with_several_matching_keys_gets_an_event_once() -> None:
    hub = Hub()
    with hub.subscribe(["tsk_1", "prj_1", EVERYTHING]) as subscription:
        hub.publish([make_event(1), make_event(2)])
    assert [event.seq for event in subscription.take_events()] == [1, 2]


def test_the_end_of_a_subscription_leaves_other_subscriptions_in_place() -> None:
    hub = Hub()
    with hub.subscribe(["tsk_1"]) as lasting:
        with hub.subscribe(["tsk_1"]) as ended:
            pass
        hub.publish([make_event()])
    hub.publish([make_event(2)])
    assert not hub._listeners, "The hub still lists a subscription that has ended."
    assert [event.seq for event in lasting.take_events()] == [1]
    assert ended.take_events() == []


def test_a_subscription_ends_when_its_block_fails() -> None:
    hub = Hub()
    with pytest.raises(ValueError, match="no"), hub.subscribe(["tsk_1"]) as subscription:
        raise ValueError("no")
    hub.publish([make_event()])
    assert subscription.take_events() == []


def test_a_full_queue_makes_the_subscription_lag() -> None:
    subscription = Subscription(frozenset({EVERYTHING}))
    for number in range(limits.feed_queue_events_max):
        subscription.add_event(make_event(number))
    assert not subscription.is_lagging
    subscription.add_event(make_event())
    subscription.add_event(make_event())
    assert subscription.is_lagging
    assert subscription.take_events() == []
    assert not subscription.is_lagging
    subscription.add_event(make_event(7))
    assert [event.seq for event in subscription.take_events()] == [7]


async def test_waiting_for_an_event_ends_with_the_next_event() -> None:
    subscription = Subscription(frozenset({EVERYTHING}))
    waiting = asyncio.ensure_future(subscription.wait_for_event())
    await asyncio.sleep(0)
    assert not waiting.done()
    subscription.add_event(make_event(1))
    subscription.add_event(make_event(2))
    async with asyncio.timeout(10):
        await waiting
    assert [event.seq for event in subscription.take_events()] == [1, 2]


async def test_waiting_for_an_event_ends_at_once_when_an_event_is_queued_or_the_queue_was_full() -> None:
    subscription = Subscription(frozenset({EVERYTHING}))
    subscription.add_event(make_event())
    async with asyncio.timeout(10):
        await subscription.wait_for_event()
    for number in range(limits.feed_queue_events_max):
        subscription.add_event(make_event(number))
    assert subscription.is_lagging
    async with asyncio.timeout(10):
        await subscription.wait_for_event()


async def test_a_cancelled_wait_leaves_the_subscription_usable() -> None:
    subscription = Subscription(frozenset({EVERYTHING}))
    waiting = asyncio.ensure_future(subscription.wait_for_event())
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    subscription.add_event(make_event())
    async with asyncio.timeout(10):
        await subscription.wait_for_event()
