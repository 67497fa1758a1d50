"""Maestro withdraws asks whose program no longer waits for an answer."""

from __future__ import annotations

from tests.unit.services.conftest import World

from maestro.domain.asks import Ask, AskKind, AskStatus
from maestro.domain.callers import Caller
from maestro.operations import asks as ops
from maestro.services.asks import asks, withdrawal


async def ask(world: World, caller: Caller, title: str, *, kind: AskKind = AskKind.QUESTION, call: str = "") -> Ask:
    """Open an ask; `call` is the digest of the tool call that the ask is about."""
    world.clock.advance(0.01)
    made: Ask = await world.do(asks.create_ask, ops.CreateAsk(title=title, kind=kind), by=caller)
    if call:
        await world.store.write(lambda tx: tx.asks.set_call(made.id, call))
    return made


async def status_of(world: World, made: Ask) -> AskStatus:
    found = await world.store.read(lambda tx: tx.asks.get(made.id))
    assert found is not None
    return found.status


async def test_withdraw_asks_withdraws_only_named_asks_that_are_open(world: World) -> None:
    worker = await world.join("w")
    first, answered, last = [await ask(world, worker, title) for title in ("First?", "Answered?", "Last?")]
    await world.do(asks.answer_ask, ops.AnswerAsk(id=answered.id, answer="Yes."))
    ask_ids = [first.id, "req_unknown", answered.id]
    await world.store.write(lambda tx: withdrawal.withdraw_asks(tx, worker, ask_ids))
    statuses = [await status_of(world, made) for made in (first, answered, last)]
    assert statuses == [AskStatus.WITHDRAWN, AskStatus.ANSWERED, AskStatus.OPEN]


async def test_only_permission_asks_about_tool_calls_of_the_session_are_withdrawn(world: World) -> None:
    worker, other = await world.join("w"), await world.join("other")
    of_call = await ask(world, worker, "Bash: make?", kind=AskKind.PERMISSION, call="1")
    question_of_call = await ask(world, worker, "Which port?", call="2")
    own = await ask(world, worker, "May I deploy?", kind=AskKind.PERMISSION)
    of_other = await ask(world, other, "Bash: make?", kind=AskKind.PERMISSION, call="1")
    await world.store.write(lambda tx: withdrawal.withdraw_permission_asks(tx, worker))
    assert await status_of(world, of_call) is AskStatus.WITHDRAWN
    for made in (question_of_call, own, of_other):
        assert await status_of(world, made) is AskStatus.OPEN


async def test_a_session_works_again_when_its_last_ask_is_withdrawn(world: World) -> None:
    worker = await world.join("w")
    made = await ask(world, worker, "Bash: make?", kind=AskKind.PERMISSION, call="1")
    assert (await world.session(worker)).status == "needs_input"
    await world.store.write(lambda tx: withdrawal.withdraw_asks(tx, worker, [made.id]))
    assert (await world.session(worker)).status == "working"
