"""Limits stop too many messages a minute and too many quick replies, and the person gets an alarm."""

from __future__ import annotations

from typing import Any

import pytest

from maestro.core import errors, limits
from maestro.domain.messages import BroadcastScope
from maestro.operations import mail_shapes as ops
from maestro.services.housekeeping.rate_alarms import AlarmJob
from maestro.services.mail.rate_limit import MailLimiter

World = Any


async def tell(world: World) -> None:
    """Run the alarm job, as the server does after the limiter has stopped a message."""
    await AlarmJob(world.store, world.guard).run_once()


async def flood(world: World, by: Any, *to: str) -> int:
    """Send messages until a message is refused, and return the number of sent messages."""
    count = 0
    try:
        while True:
            await world.send(by, *to)
            count += 1
    except errors.TooFast:
        return count


async def test_messages_to_a_mailbox_are_limited_within_a_minute(world: World) -> None:
    worker = await world.join("w")
    await world.join("x")
    assert await flood(world, worker, "x") == 20
    with pytest.raises(errors.TooFast) as refused:
        await world.send(worker, "x")
    assert refused.value.data["per_minute"] == 20 and "minute" in refused.value.hint
    await world.send(worker, "human")  # each mailbox has its own count
    world.clock.advance(59)
    with pytest.raises(errors.TooFast):
        await world.send(worker, "x")
    world.clock.advance(2)
    await world.send(worker, "x")


async def test_the_person_gets_one_alarm_an_hour_for_each_cause(world: World) -> None:
    worker = await world.join("w")
    await world.join("x")
    nudged: list[bool] = []
    world.guard.on_alarm = lambda: nudged.append(True)
    await flood(world, worker, "x")
    await flood(world, worker, "x")
    await tell(world)
    await tell(world)
    (alarm,) = await world.unread()
    assert alarm.subject == "w sends too much mail to x" and alarm.sender.name == "maestro" and nudged == [True]
    (stopped,) = [event for event in await world.log() if event.kind == "mail.stopped"]
    assert stopped.data["subject"] == alarm.subject
    world.clock.advance(3601)
    await flood(world, worker, "x")
    await tell(world)
    assert len(await world.unread()) == 2


async def test_a_refused_message_reaches_no_mailbox(world: World) -> None:
    worker, peer = await world.join("w"), await world.join("x")
    sent = await flood(world, worker, "x")
    with pytest.raises(errors.TooFast):
        await world.send(worker, "human", "x")
    assert len(await world.unread(peer)) == sent and await world.unread() == []


async def test_mail_of_the_person_is_not_limited(world: World) -> None:
    peer = await world.join("x")
    for _ in range(25):
        await world.send(None, "x")
    assert len(await world.unread(peer)) == 25


async def test_a_limit_of_zero_refuses_no_message(world: World) -> None:
    worker = await world.join("w")
    free = MailLimiter(world.families, per_minute=0, per_minute_of_family=0, per_minute_of_project=0)

    def flood(tx: Any) -> None:
        for _ in range(200):
            free.count_message(tx, worker, "human", name="human")

    await world.store.read(flood)
    assert free.take_alarms() == []


async def test_a_broadcast_counts_as_one_message(world: World) -> None:
    boss = await world.boss("boss")
    for name in ("a", "b"):
        await world.join(name, under=boss)
    request = ops.BroadcastMail(scope=BroadcastScope.MY_WORKERS, subject="s", message="b")
    for _ in range(20):
        await world.do(world.sending.send_broadcast, request, by=boss)
    with pytest.raises(errors.TooFast):
        await world.do(world.sending.send_broadcast, request, by=boss)
    await world.send(boss, "a")


async def loop(world: World, one: Any, two: Any, *, pause: float = 1) -> tuple[Any, int]:
    """Let two sessions answer each other until a reply is refused; return the last message and the reply count."""
    last, count = await world.send(one, two.name, subject="Thanks"), 0
    while True:
        world.clock.advance(pause)
        one, two = two, one
        try:
            last = await world.reply(one, last, "Thank you!")
        except errors.Looping:
            return last, count
        count += 1
        assert count < 1000


async def test_two_sessions_that_answer_each_other_without_end_are_stopped(world: World) -> None:
    one, two = await world.join("one"), await world.join("two")
    last, count = await loop(world, one, two, pause=5)
    assert count == limits.mail_hops_max
    with pytest.raises(errors.Looping) as refused:
        await world.reply(two if count % 2 == 0 else one, last)
    assert refused.value.data["hops"] == count + 1 and "acknowledgements" in refused.value.hint
    await tell(world)
    (alarm,) = await world.unread()
    assert "answer each other without end" in alarm.subject and f"maestro mail thread {last.thread_id}" in alarm.body


async def test_a_stopped_thread_continues_after_a_pause_or_a_message_of_the_person(world: World) -> None:
    one, two = await world.join("one"), await world.join("two")
    last, count = await loop(world, one, two, pause=5)
    answerer = one if count % 2 else two
    words = await world.reply(None, last, "Enough.")
    assert (await world.reply(answerer, words, "Sorry.")).thread_id == last.thread_id
    world.clock.advance(limits.mail_hop_seconds + 1)
    await world.reply(answerer, last)


async def test_replies_with_pauses_are_not_limited(world: World) -> None:
    one, two = await world.join("one"), await world.join("two")
    last = await world.send(one, "two")
    for _ in range(limits.mail_hops_max * 2):
        world.clock.advance(limits.mail_hop_seconds + 1)
        one, two = two, one
        last = await world.reply(one, last)
    assert world.guard.take_alarms() == []
