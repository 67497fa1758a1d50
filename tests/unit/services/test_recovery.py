"""Workers of a coordinator that is gone and cannot be started again: adopted by whoever is above, or the person says."""

from __future__ import annotations

from typing import Any

import pytest

from maestro.core import errors
from maestro.domain.asks import Ask
from maestro.domain.callers import SERVER_CALLER, Caller
from maestro.domain.recovery import RecoveryStep, SessionRecovery
from maestro.domain.sessions import SessionStatus, StatusSource
from maestro.operations import asks as ask_ops
from maestro.services.asks import asks
from maestro.services.recovery import orphans
from maestro.services.sessions import lifecycle as sessions
from maestro.store.base import Tx

World = Any


async def lose(world: World, caller: Caller, *, status: SessionStatus = SessionStatus.LOST) -> None:
    """As upkeep finds it out."""

    def write(tx: Tx) -> None:
        session = tx.sessions.get(caller.name)
        assert session is not None
        sessions.finish_session(
            tx, session, status, source=StatusSource.HEARTBEAT, actor=SERVER_CALLER, detail="gone"
        )

    await world.store.write(write)


async def recover(world: World) -> list[SessionRecovery]:
    """What is due, done; what came after a program is to be started is given back."""
    due: list[SessionRecovery] = await world.store.read(lambda tx: tx.recoveries.list_due(tx.at, limit=10))
    for known in due:
        if known.step in (RecoveryStep.HAND_OVER, RecoveryStep.ADOPT):
            work = orphans.hand_over_workers if known.step is RecoveryStep.HAND_OVER else orphans.adopt_as_decided
            await world.store.write(lambda tx, work=work, known=known: work(tx, known))
    return [known for known in due if known.step in (RecoveryStep.STOP, RecoveryStep.RESUME)]


async def parent(world: World, caller: Caller) -> str | None:
    found: str | None = (await world.session(caller)).parent_id
    return found


async def asked(world: World) -> list[Ask]:
    found: list[Ask] = await world.store.read(lambda tx: tx.asks.list_open(after="", limit=10))
    return found


async def answer(world: World, ask: Ask, said: str) -> None:
    await world.do(asks.answer_ask, ask_ops.AnswerAsk(id=ask.id, answer=said))


async def test_whoever_is_above_takes_them_and_both_sides_are_told(world: World) -> None:
    top = await world.boss("top")
    boss = await world.boss("boss", under=top)
    worker = await world.join("w", under=boss)
    await lose(world, boss)
    await recover(world)
    assert await parent(world, worker) == top.name
    assert "You are the coordinator of boss's workers now" in [one.subject for one in await world.unread(top)]
    assert "top is your coordinator now" in [one.subject for one in await world.unread(worker)]
    assert await asked(world) == []


async def test_a_coordinator_without_workers_needs_nobody(world: World) -> None:
    boss = await world.boss("boss")
    await lose(world, boss)
    await recover(world)
    assert await asked(world) == []
    assert await world.store.read(lambda tx: tx.recoveries.next_due_at()) is None


async def test_one_that_ended_by_its_own_word_leaves_its_workers_as_they_are(world: World) -> None:
    top = await world.boss("top")
    boss = await world.boss("boss", under=top)
    worker = await world.join("w", under=boss)
    await world.end(boss, "completed")
    assert await recover(world) == [] and await parent(world, worker) == boss.name


async def test_with_nobody_above_the_person_is_asked_once(world: World) -> None:
    boss, other = await world.boss("boss"), await world.boss("other")
    worker = await world.join("w", under=boss)
    await lose(world, boss)
    await recover(world)
    await recover(world)
    (ask,) = await asked(world)
    assert ask.choices == ["adopt by other", "stop its workers", "leave them"]
    assert "boss is lost" in ask.title and "w" in ask.text
    with pytest.raises(errors.Invalid):
        await answer(world, ask, "whatever you like")
    await answer(world, ask, "adopt")
    await recover(world)
    assert await parent(world, worker) == other.name
    assert (await world.session(boss)).successor_id == other.name
    assert await asked(world) == []


async def test_the_person_stops_them_or_leaves_them(world: World) -> None:
    for said, steps in (("stop its workers", [RecoveryStep.STOP]), ("leave them", [])):
        boss = await world.boss("boss")
        worker = await world.join("w", under=boss)
        await lose(world, boss)
        await recover(world)
        (ask,) = await asked(world)
        await answer(world, ask, said)
        assert [known.step for known in await recover(world)] == steps
        assert await parent(world, worker) == boss.name
        await world.store.write(lambda tx, boss=boss: tx.recoveries.clear_next_step(boss.name))
        await world.end(worker)


async def test_an_heir_that_is_gone_by_then(world: World) -> None:
    boss, other = await world.boss("boss"), await world.boss("other")
    await world.join("w", under=boss)
    await lose(world, boss)
    await recover(world)
    (ask,) = await asked(world)
    await world.end(other)
    with pytest.raises(errors.Conflict, match="other has ended"):
        await answer(world, ask, "adopt by other")
    assert await asked(world) == [ask], "it is still to be answered"


async def test_what_settles_it_without_an_answer(world: World) -> None:
    boss = await world.boss("boss")
    worker = await world.join("w", under=boss)
    await lose(world, boss)
    await recover(world)
    assert len(await asked(world)) == 1
    await world.end(worker)
    assert await asked(world) == [], "there is nobody left to decide about"
