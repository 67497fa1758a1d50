"""Callers read threads, and a session claims and releases a thread."""

from __future__ import annotations

from typing import Any

import pytest

from maestro.core import errors
from maestro.operations import mail_shapes as ops
from maestro.services.mail import threads

World = Any
OTHER = "prj_00000000000000000000000001"


async def claim(world: World, caller: Any, message: Any) -> Any:
    return await world.do(threads.claim_thread, ops.OneThread(id=message.id), by=caller)


async def release(world: World, caller: Any, message: Any) -> Any:
    return await world.do(threads.release_thread, ops.OneThread(id=message.id), by=caller)


async def thread(world: World, caller: Any, message: Any) -> ops.Thread:
    request = ops.OneThread(id=message.id)
    found: ops.Thread = await world.store.read(lambda tx: world.reading.show_thread(tx, caller, request))
    return found


async def test_a_thread_is_found_by_each_of_its_messages(world: World) -> None:
    boss = await world.boss("boss")
    worker = await world.join("w", under=boss)
    asked = await world.send(worker, to_coordinator=True, subject="Port?")
    answer = await world.reply(boss, asked, "8081")
    thanks = await world.reply(worker, answer, "ok")
    await world.send(worker, to_coordinator=True, subject="Something else")
    for message in (asked, answer, thanks):
        found = await thread(world, worker, message)
        assert (found.thread_id, found.subject, found.truncated) == (asked.id, "Port?", False)
        assert [one.body for one in found.messages] == ["b", "8081", "ok"]


async def test_the_mail_of_a_claimed_thread_is_offered_only_to_the_holder(world: World) -> None:
    one, two = await world.join("one"), await world.join("two")
    sent = await world.send(None, "vc", subject="Crash")
    assert await world.subjects(one) == await world.subjects(two) == ["Crash"]
    assert (await claim(world, one, sent)).claimed_by == one.name
    assert await world.subjects(one) == ["Crash"] and await world.subjects(two) == []
    with pytest.raises(errors.Conflict) as refused:
        await claim(world, two, sent)
    assert (
        "one has already claimed this thread" in refused.value.message
        and refused.value.data["claimed_by"] == one.name
    )
    assert (await claim(world, one, sent)).claimed_by == one.name  # a second claim by the holder changes nothing
    assert [event.kind for event in await world.log()].count("thread.claimed") == 1


async def test_the_mail_of_a_released_thread_is_offered_again_to_all_sessions(world: World) -> None:
    one, two = await world.join("one"), await world.join("two")
    sent = await world.send(None, "vc", subject="Crash")
    assert len(await world.read(two)) == 1 and await world.subjects(two) == []
    await claim(world, one, sent)
    with pytest.raises(errors.Conflict):
        await release(world, two, sent)
    assert (await release(world, one, sent)).claimed_by is None
    assert await world.subjects(two) == ["Crash"]
    with pytest.raises(errors.Conflict):
        await release(world, one, sent)


async def test_the_person_may_release_any_thread_and_an_ended_session_releases_its_threads(world: World) -> None:
    one, two = await world.join("one"), await world.join("two")
    first, second = await world.send(None, "vc", subject="a"), await world.send(None, "vc", subject="b")
    await claim(world, one, first)
    await claim(world, one, second)
    await release(world, None, first)
    assert await world.subjects(two) == ["a"]
    await world.end(one)
    assert await world.subjects(two) == ["a", "b"]
    released = [event for event in await world.log() if event.kind == "thread.released"]
    assert [event.data["by"] for event in released] == [one.name] * 2
    assert all(
        event.data["to"] == ["prj_00000000000000000000000000"] for event in released
    )  # ends waits of the project's sessions


async def test_an_answer_to_mail_for_a_project_claims_the_thread(world: World) -> None:
    asker = await world.join("asker", project=OTHER)
    one, two = await world.join("one"), await world.join("two")
    sent = await world.send(asker, "vc", subject="Help")
    await world.reply(one, sent, "On it.")
    assert await world.subjects(two) == []
    assert (await thread(world, two, sent)).claimed_by == one.name
    assert [event.kind for event in await world.log()].count("thread.claimed") == 1


async def test_a_late_answer_of_another_session_does_not_take_the_claim(world: World) -> None:
    asker = await world.join("asker", project=OTHER)
    one, two = await world.join("one"), await world.join("two")
    sent = await world.send(asker, "vc", subject="Help")
    await claim(world, one, sent)
    await world.reply(two, sent, "Me too.")
    assert (await thread(world, two, sent)).claimed_by == one.name


async def test_a_session_reads_the_messages_of_a_thread_that_its_project_sent_or_received(world: World) -> None:
    asker, worker = await world.join("asker", project=OTHER), await world.join("w")
    sent = await world.send(asker, "vc", subject="Help")
    inside = await world.send(worker, "human", subject="Theirs")
    with pytest.raises(errors.NotFound):
        await thread(world, asker, inside)
    assert len((await thread(world, worker, sent)).messages) == 1
    assert len((await thread(world, world.dana, inside)).messages) == 1


async def test_the_sender_of_a_thread_cannot_claim_the_thread(world: World) -> None:
    asker = await world.join("asker", project=OTHER)
    one = await world.join("one")
    sent = await world.send(asker, "vc", "human", subject="Help")  # mail to several recipients opens no issue
    with pytest.raises(errors.NotPermitted, match="received no message of this thread") as refused:
        await claim(world, asker, sent)
    assert "mail status" in refused.value.hint
    assert await world.subjects(one) == ["Help"]
    assert (await claim(world, one, sent)).claimed_by == one.name
    await release(world, one, sent)
    assert (await claim(world, world.dana, sent)).claimed_by == "dana"
