"""Agents open, withdraw, list and await asks to the person; the person answers and withdraws asks."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from maestro.core import errors, limits
from maestro.domain.asks import Ask, AskKind, AskStatus
from maestro.domain.messages import HUMAN_MAILBOX, MessageType
from maestro.operations import asks as ops
from maestro.services.asks import asks
from maestro.services.asks.asks import AskWaits

World = Any
OTHER = "prj_00000000000000000000000001"


async def ask(world: World, by: Any, title: str = "Which port?", **fields: Any) -> Ask:
    made: Ask = await world.do(asks.create_ask, ops.CreateAsk(title=title, **fields), by=by)
    return made


async def answer(world: World, made: Ask, said: str, by: Any = None) -> Ask:
    closed: Ask = await world.do(asks.answer_ask, ops.AnswerAsk(id=made.id, answer=said), by=by)
    return closed


async def status(world: World, caller: Any) -> str:
    return str((await world.session(caller)).status)


async def listed(world: World, by: Any = None, **fields: Any) -> list[str]:
    caller = by or world.dana
    page = await world.store.read(lambda tx: asks.list_asks(tx, caller, ops.ListAsks(**fields)))
    return [one.title for one in page.asks]


async def test_a_session_needs_input_until_its_ask_is_answered(world: World) -> None:
    boss = await world.boss("boss")
    worker = await world.join("w", under=boss)
    made = await ask(world, worker, message="8080 is taken.", choice=["8081", "8082"])
    assert (made.asked_by, made.kind, made.status, made.choices) == ("w", "question", "open", ["8081", "8082"])
    assert await status(world, worker) == "needs_input" and await listed(world) == ["Which port?"]
    (notice,) = await world.unread(boss)
    assert (notice.subject, notice.body, notice.priority) == ("w needs input", "asks: Which port?", "high")
    closed = await answer(world, made, "2")
    assert (closed.status, closed.answer, closed.answered_by) == ("answered", "8082", "dana")
    assert await status(world, worker) == "working" and await listed(world) == []
    (mail,) = await world.unread(worker)
    assert (mail.subject, mail.body, mail.type, mail.priority) == ("Answer: Which port?", "8082", "response", "high")
    assert mail.sender.kind == "person"
    kinds = [event.kind for event in await world.log() if event.kind.startswith("ask.")]
    assert kinds == ["ask.opened", "ask.answered"]


async def test_the_last_answer_ends_the_need_for_input(world: World) -> None:
    worker = await world.join("w")
    one, two = await ask(world, worker), await ask(world, worker, "And the host?")
    await answer(world, one, "8081")
    assert await status(world, worker) == "needs_input"
    await answer(world, two, "localhost")
    assert await status(world, worker) == "working"


async def test_a_permission_ask_is_answered_with_allow_or_deny_only(world: World) -> None:
    worker = await world.join("w")
    made = await ask(world, worker, "Run rm?", kind=AskKind.PERMISSION)
    assert made.choices == ["allow", "deny"]
    with pytest.raises(errors.Invalid):
        await answer(world, made, "well, maybe")
    assert (await answer(world, made, "DENY")).answer == "deny"


async def test_a_closed_ask_stays_closed(world: World) -> None:
    worker = await world.join("w")
    made = await ask(world, worker)
    await answer(world, made, "8081")
    with pytest.raises(errors.Conflict) as refused:
        await answer(world, made, "8082")
    assert refused.value.data["answer"] == "8081"
    with pytest.raises(errors.Conflict):
        await world.do(asks.withdraw_ask, ops.OneAsk(id=made.id), by=worker)
    assert len(await world.unread(worker)) == 1


async def test_a_query_to_the_person_opens_an_ask(world: World) -> None:
    worker = await world.join("w")
    await world.task(held_by=worker)
    sent = await world.send(
        worker, "human", subject="Port?", message="8080 is taken.", type=MessageType.QUERY, task="#1"
    )
    assert await listed(world) == ["Port?"] and await status(world, worker) == "needs_input"
    (made,) = (await world.store.read(lambda tx: tx.asks.list_open(after="", limit=9)),)[0]
    assert (made.text, made.message_id, made.kind) == ("8080 is taken.", sent.id, "question")
    await answer(world, made, "8081")
    assert await world.states(sent) == {HUMAN_MAILBOX: "acknowledged"}
    (mail,) = await world.unread(worker)
    assert (mail.thread_id, mail.parent_id, mail.body, mail.task) == (sent.id, sent.id, "8081", "vc#1")


async def test_the_persons_reply_to_a_query_answers_the_ask(world: World) -> None:
    worker = await world.join("w")
    sent = await world.send(worker, "human", subject="Port?", type=MessageType.QUERY)
    await world.reply(None, sent, "Take 8081.")
    assert await listed(world) == [] and await status(world, worker) == "working"
    assert [mail.subject for mail in await world.unread(worker)] == [
        "Re: Port?"
    ]  # the closed ask sends no second mail
    closed = await world.store.read(lambda tx: tx.asks.list_page(worker.project_id, after="", limit=9))
    assert [(one.status, one.answer) for one in closed] == [("answered", "Take 8081.")]


async def test_the_ask_of_a_long_query_holds_the_beginning_of_the_text(world: World) -> None:
    worker = await world.join("w")
    long = "x" * (limits.inbox_body_chars_max + 1)
    await world.send(worker, "human", subject="Port?", message=long, type=MessageType.QUERY)
    (made,) = await world.store.read(lambda tx: tx.asks.list_open(after="", limit=9))
    assert made.text == long[:-1]


async def test_only_a_query_from_a_session_to_the_person_opens_an_ask(world: World) -> None:
    boss = await world.boss("boss")
    worker = await world.join("w", under=boss)
    await world.send(worker, "human", type=MessageType.STATUS_UPDATE)
    await world.send(worker, "boss", type=MessageType.QUERY)
    await world.send(None, "human", type=MessageType.QUERY)
    assert await listed(world) == [] and await status(world, worker) == "working"


async def test_a_query_to_an_ended_coordinator_opens_an_ask_to_the_person(world: World) -> None:
    boss = await world.boss("boss")
    worker = await world.join("w", under=boss)
    await world.end(boss)
    await world.send(worker, to_coordinator=True, subject="Port?", type=MessageType.QUERY)
    assert await listed(world) == ["Port?"]


async def test_the_end_of_a_session_withdraws_its_asks(world: World) -> None:
    worker, other = await world.join("w"), await world.join("x")
    mine, theirs = await ask(world, worker), await ask(world, other, "Theirs")
    await world.end(worker)
    assert await listed(world) == ["Theirs"]
    found = await world.store.read(lambda tx: tx.asks.get(mine.id))
    assert found.status is AskStatus.WITHDRAWN
    with pytest.raises(errors.Conflict):
        await answer(world, mine, "too late")
    assert theirs.status is AskStatus.OPEN


async def test_the_asker_and_the_person_may_withdraw_an_ask(world: World) -> None:
    worker, other = await world.join("w"), await world.join("x")
    one, two = await ask(world, worker), await ask(world, worker)
    with pytest.raises(errors.NotPermitted):
        await world.do(asks.withdraw_ask, ops.OneAsk(id=one.id), by=other)
    await world.do(asks.withdraw_ask, ops.OneAsk(id=one.id), by=worker)
    assert await status(world, worker) == "needs_input"
    assert (await world.do(asks.withdraw_ask, ops.OneAsk(id=two.id))).status == "withdrawn"
    assert await status(world, worker) == "working"


async def test_the_person_lists_asks_of_all_projects_and_a_session_lists_asks_of_its_project(world: World) -> None:
    here, there = await world.join("w"), await world.join("s", project=OTHER)
    mine = await ask(world, here, "Here?")
    world.clock.advance(1)
    await ask(world, there, "There?")
    assert await listed(world) == ["Here?", "There?"]
    assert await listed(world, here) == ["Here?"] and await listed(world, there) == ["There?"]
    with pytest.raises(errors.NotFound):
        await world.store.read(lambda tx: asks.show_ask(tx, there, ops.OneAsk(id=mine.id)))
    await answer(world, mine, "yes")
    assert await listed(world, all=True, project="vc") == ["Here?"] and await listed(world, here) == []


async def test_pages_of_asks_continue_after_answered_asks(world: World) -> None:
    worker = await world.join("w")
    for number in range(4):
        world.clock.advance(1)
        made = await ask(world, worker, str(number))
        if number < 3:
            await answer(world, made, "yes")
    titles, cursor = [], ""
    while True:
        request = ops.ListAsks(limit=2, cursor=cursor)
        page = await world.store.read(lambda tx, request=request: asks.list_asks(tx, worker, request))
        titles += [one.title for one in page.asks]
        if page.cursor is None:
            break
        cursor = page.cursor
    assert titles == ["3"]


def wait(world: World, caller: Any, made: Ask, timeout: int = 60_000) -> asyncio.Task[Ask]:
    waits = AskWaits(world.store, world.hub, world.presence)
    return asyncio.create_task(waits.wait_for_answer(caller, ops.WaitAsk(id=made.id, timeout=timeout)))


async def test_a_wait_for_an_ask_returns_the_answer_or_times_out_with_a_hint(world: World) -> None:
    worker = await world.join("w")
    made = await ask(world, worker)
    waits = wait(world, worker, made)
    await world.store.read(lambda tx: tx.at)
    await answer(world, made, "8081")
    assert (await waits).answer == "8081"
    assert (await wait(world, worker, made)).answer == "8081"  # a wait for an answered ask returns at once
    with pytest.raises(errors.TimedOut) as refused:
        await wait(world, worker, await ask(world, worker), timeout=10)
    assert "maestro ask wait ask_" in refused.value.hint


async def test_the_creation_of_an_ask_with_wait_returns_the_closed_ask(world: World) -> None:
    worker = await world.join("w")
    waits = AskWaits(world.store, world.hub, world.presence)
    request = ops.CreateAsk(title="Port?", wait=True)
    made = await world.do(asks.create_ask, request, by=worker)
    waiting = asyncio.create_task(waits.wait_if_requested(worker, request, made))
    await world.do(asks.withdraw_ask, ops.OneAsk(id=made.id))
    assert (await waiting).status is AskStatus.WITHDRAWN
    assert await waits.wait_if_requested(worker, ops.CreateAsk(title="Port?"), made) is made


async def test_only_sessions_open_asks(world: World) -> None:
    with pytest.raises(errors.NotFound):
        await ask(world, None)
