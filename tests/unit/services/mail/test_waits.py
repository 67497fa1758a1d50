"""A wait for mail returns unread mail at once; otherwise the wait collects all mail of a burst."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from maestro.core import errors, limits
from maestro.domain.messages import MessageType
from maestro.domain.priorities import Priority
from maestro.operations import mail_shapes as ops
from maestro.services.mail import threads
from maestro.services.mail.waits import MailWaits

World = Any
LONG = 60_000  # milliseconds; no test waits this long


def wait(world: World, caller: Any, **fields: Any) -> asyncio.Task[ops.InboxPage]:
    """Start a wait for mail in a task and return the task."""
    values: dict[str, Any] = {"timeout": LONG, "debounce": LONG} | fields
    return asyncio.create_task(world.waits.wait_for_mail(caller, ops.WaitMail(**values)))


async def listening(world: World, caller: Any) -> None:
    """Wait until a wait of the session counts as a connection."""
    async with asyncio.timeout(20):
        while caller.session_id not in world.presence.connected_sessions():
            await looked(world)


async def looked(world: World) -> None:
    """Give all tasks that can run the time to run."""
    for _ in range(5):
        await world.store.read(lambda tx: tx.events.last_seq())


def subjects(found: ops.InboxPage) -> list[str]:
    return [message.subject for message in found.messages]


async def test_a_wait_returns_unread_mail_at_once(world: World) -> None:
    worker = await world.join("w")
    await world.send(None, "w", subject="a")
    await world.send(None, "vc", subject="b")
    found = await wait(world, worker)
    assert subjects(found) == ["a", "b"] and found.receipt
    assert len(await world.unread(worker)) == 2  # the wait alone marks no mail


async def test_the_cursor_of_the_previous_wait_confirms_the_mail_of_that_wait(world: World) -> None:
    worker = await world.join("w")
    sent = await world.send(None, "w")
    found = await wait(world, worker)
    with pytest.raises(errors.TimedOut):
        await wait(world, worker, cursor=found.cursor, timeout=0)
    assert await world.states(sent) == {worker.name: "read"}


async def test_a_wait_returns_a_burst_of_three_messages_together(world: World) -> None:
    boss = await world.boss("boss")
    workers = [await world.join(name, under=boss) for name in ("a", "b", "c")]
    waits = wait(world, boss, debounce=300)
    await listening(world, boss)
    await asyncio.gather(*(world.send(worker, to_coordinator=True, subject=worker.title) for worker in workers))
    assert sorted(subjects(await waits)) == ["a", "b", "c"]


async def test_a_wait_does_not_return_before_the_end_of_a_burst(world: World) -> None:
    worker = await world.join("w")
    waits = wait(world, worker)
    await listening(world, worker)
    for number in range(3):
        await world.send(None, "w", subject=str(number))
        await looked(world)
        assert not waits.done()
    waits.cancel()


async def test_critical_mail_ends_the_collection_at_once(world: World) -> None:
    worker = await world.join("w")
    waits = wait(world, worker, count=10)
    await listening(world, worker)
    await world.send(None, "w", subject="later")
    await world.send(None, "w", subject="now", priority=Priority.CRITICAL)
    assert subjects(await waits) == ["now", "later"]
    assert subjects(await wait(world, worker, count=10)) == [
        "now",
        "later",
    ]  # also if the mail arrived before the wait


async def test_a_wait_can_ask_for_a_number_of_messages(world: World) -> None:
    worker = await world.join("w")
    await world.send(None, "w", subject="0")
    waits = wait(
        world, worker, count=3
    )  # the wait ends with the third message and does not wait for the end of a burst
    await listening(world, worker)
    await world.send(None, "w", subject="1")
    await looked(world)
    assert not waits.done()
    await world.send(None, "w", subject="2")
    assert subjects(await waits) == ["0", "1", "2"]


async def test_a_wait_for_a_number_of_messages_returns_fewer_messages_at_the_timeout(world: World) -> None:
    worker = await world.join("w")
    await world.send(None, "w", subject="only")
    assert subjects(await wait(world, worker, count=3, timeout=20)) == ["only"]


async def test_a_timeout_without_mail_reports_a_silent_coordinator(world: World) -> None:
    boss = await world.boss("boss")
    worker = await world.join("w", under=boss)
    with pytest.raises(errors.TimedOut) as refused:
        await wait(world, worker, timeout=10)
    assert refused.value.hint == "" and "0.01 s" in refused.value.message
    world.clock.advance(limits.session_lease_without_process_seconds + 1)
    with pytest.raises(errors.TimedOut) as refused:
        await wait(world, worker, timeout=10)
    assert "boss was last heard of at 12:00:00 UTC; its status is idle" in refused.value.hint


async def test_only_matching_mail_ends_a_wait(world: World) -> None:
    worker = await world.join("w")
    waits = wait(world, worker, type=MessageType.QUERY, debounce=0)
    await listening(world, worker)
    await world.send(None, "w", subject="no", type=MessageType.DIRECTIVE)
    await looked(world)
    assert not waits.done()
    await world.send(None, "w", subject="yes", type=MessageType.QUERY)
    assert subjects(await waits) == ["yes"]


async def test_a_wait_with_peek_returns_no_receipt(world: World) -> None:
    worker = await world.join("w")
    await world.send(None, "w")
    assert (await wait(world, worker, peek=True)).receipt == ""


async def test_mail_in_each_mailbox_of_the_session_ends_a_wait_and_other_mail_does_not(world: World) -> None:
    await world.member("ada")
    worker = await world.join("w", member="ada", path="/src/dave/vc")
    for to in ("w", "@ada", "dave/vc", "vc"):
        waits = wait(world, worker, debounce=0)
        await listening(world, worker)
        await world.task()
        await world.send(None, "human")
        await looked(world)
        assert not waits.done()
        await world.send(None, to, subject=to)
        found = await waits
        assert subjects(found) == [to]
        await world.read(worker)


async def test_other_events_do_not_extend_a_wait(world: World) -> None:
    """A burst ends when no mail arrives for a time; other events of a busy project do not count."""
    worker = await world.join("w")
    waits = wait(world, worker, debounce=200)
    await listening(world, worker)
    await world.send(None, "w", subject="a")
    async with asyncio.timeout(20):
        while not waits.done():
            await world.task()
    assert subjects(await waits) == ["a"]


async def test_a_released_thread_ends_a_wait(world: World) -> None:
    one, two = await world.join("one"), await world.join("two")
    sent = await world.send(None, "vc", subject="Crash")
    await world.do(threads.claim_thread, ops.OneThread(id=sent.id), by=one)
    waits = wait(world, two, debounce=0)
    await listening(world, two)
    await looked(world)
    assert not waits.done()
    await world.do(threads.release_thread, ops.OneThread(id=sent.id), by=one)
    assert subjects(await waits) == ["Crash"]


async def test_a_wait_subscribes_before_its_first_read(world: World) -> None:
    """Mail that arrives between the first read and the wait is not lost."""
    worker = await world.join("w")

    class Sends:
        """A store in which mail arrives just after the first read has found no mail."""

        def __init__(self) -> None:
            self.looks = 0

        async def read(self, work: Any, *, quick: bool = False) -> Any:
            found = await world.store.read(work, quick=quick)
            if found == []:
                self.looks += 1
                if self.looks == 1:
                    await world.send(None, "w", subject="between")
            return found

    waits = MailWaits(Sends(), world.hub, world.presence)  # type: ignore[arg-type]
    async with asyncio.timeout(20):
        assert subjects(await waits.wait_for_mail(worker, ops.WaitMail(timeout=LONG, debounce=0))) == ["between"]


async def test_a_session_counts_as_present_while_a_wait_of_the_session_is_open(world: World) -> None:
    worker = await world.join("w")
    waits = wait(world, worker)
    await listening(world, worker)
    world.clock.advance(10 * limits.session_lease_seconds)
    assert world.presence.was_heard_within(worker.name)
    waits.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waits
    assert world.presence.connected_sessions() == []
    assert not world.presence.was_heard_within(worker.name)  # a cancelled wait is no sign of life
    with pytest.raises(errors.TimedOut):
        await wait(world, worker, timeout=0)
    assert world.presence.was_heard_within(worker.name)  # a returned answer is a sign of life


async def test_a_wait_returns_a_limited_number_of_messages(world: World) -> None:
    worker = await world.join("w")
    for _ in range(limits.wait_messages_max + 1):
        await world.send(None, "w")
    found = await wait(world, worker)
    assert len(found.messages) == limits.wait_messages_max and found.more
