"""The coordinator above adopts the workers of a lost coordinator; without such a coordinator, the person decides."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from maestro.core import errors, limits
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
    """End a session as the lost-session job does."""

    def write(tx: Tx) -> None:
        session = tx.sessions.get(caller.name)
        assert session is not None
        sessions.finish_session(
            tx, session, status, source=StatusSource.HEARTBEAT, actor=SERVER_CALLER, detail="gone"
        )

    await world.store.write(write)


async def recover(world: World) -> list[SessionRecovery]:
    """Do the due hand-overs and adoptions, and return the due recoveries that stop or resume programs."""
    due: list[SessionRecovery] = await world.store.read(lambda tx: tx.recoveries.list_due(tx.at, limit=10))
    for known in due:
        if known.step in (RecoveryStep.HAND_OVER, RecoveryStep.ADOPT):
            work = orphans.hand_over_workers if known.step is RecoveryStep.HAND_OVER else orphans.adopt_as_decided
            await world.store.write(lambda tx, work=work, known=known: work(tx, known))
    return [known for known in due if known.step in (RecoveryStep.STOP, RecoveryStep.RESUME)]


async def parent(world: World, caller: Caller) -> str | None:
    found: str | None = (await world.session(caller)).parent_id
    return found


async def open_asks(world: World) -> list[Ask]:
    found: list[Ask] = await world.store.read(lambda tx: tx.asks.list_open(after="", limit=10))
    return found


async def answer(world: World, ask: Ask, text: str) -> None:
    await world.do(asks.answer_ask, ask_ops.AnswerAsk(id=ask.id, answer=text))


async def test_the_coordinator_above_adopts_the_workers_and_both_get_a_notice(world: World) -> None:
    top = await world.boss("top")
    boss = await world.boss("boss", under=top)
    worker = await world.join("w", under=boss)
    await lose(world, boss)
    await recover(world)
    assert await parent(world, worker) == top.name
    assert "You are the coordinator of boss's workers now" in await world.subjects(top)
    assert "top is your coordinator now" in await world.subjects(worker)
    assert await open_asks(world) == []


async def test_a_coordinator_without_workers_needs_no_hand_over(world: World) -> None:
    boss = await world.boss("boss")
    await lose(world, boss)
    await recover(world)
    assert await open_asks(world) == []
    assert await world.store.read(lambda tx: tx.recoveries.next_due_at()) is None


async def test_a_completed_coordinator_keeps_its_workers(world: World) -> None:
    top = await world.boss("top")
    boss = await world.boss("boss", under=top)
    worker = await world.join("w", under=boss)
    await world.end(boss, "completed")
    assert await recover(world) == [] and await parent(world, worker) == boss.name


async def test_the_person_gets_one_ask_about_the_workers_of_a_lost_top_coordinator(world: World) -> None:
    boss, other = await world.boss("boss"), await world.boss("other")
    worker = await world.join("w", under=boss)
    await lose(world, boss)
    await recover(world)
    await recover(world)
    (ask,) = await open_asks(world)
    assert ask.choices == ["adopt by other", "stop its workers", "leave them"]
    assert "boss is lost" in ask.title and "w" in ask.text
    with pytest.raises(errors.Invalid):
        await answer(world, ask, "whatever you like")
    await answer(world, ask, "adopt")
    await recover(world)
    assert await parent(world, worker) == other.name
    assert (await world.session(boss)).successor_id == other.name
    assert await open_asks(world) == []


async def test_the_person_stops_the_workers_or_leaves_the_workers_as_they_are(world: World) -> None:
    for choice, steps in (("stop its workers", [RecoveryStep.STOP]), ("leave them", [])):
        boss = await world.boss("boss")
        worker = await world.join("w", under=boss)
        await lose(world, boss)
        await recover(world)
        (ask,) = await open_asks(world)
        await answer(world, ask, choice)
        assert [known.step for known in await recover(world)] == steps
        assert await parent(world, worker) == boss.name
        await world.store.write(lambda tx, boss=boss: tx.recoveries.clear_next_step(boss.name))
        await world.end(worker)


async def test_an_answer_that_chooses_an_ended_coordinator_is_refused(world: World) -> None:
    boss, other = await world.boss("boss"), await world.boss("other")
    await world.join("w", under=boss)
    await lose(world, boss)
    await recover(world)
    (ask,) = await open_asks(world)
    await world.end(other)
    with pytest.raises(errors.Conflict, match="other has ended"):
        await answer(world, ask, "adopt by other")
    assert await open_asks(world) == [ask], "the ask must stay open"


async def test_the_end_of_the_last_worker_withdraws_the_ask_about_the_workers(world: World) -> None:
    boss = await world.boss("boss")
    worker = await world.join("w", under=boss)
    await lose(world, boss)
    await recover(world)
    assert len(await open_asks(world)) == 1
    await world.end(worker)
    assert await open_asks(world) == [], "no worker is left"


async def test_the_hand_over_waits_while_the_coordinator_above_is_being_resumed(world: World) -> None:
    top = await world.boss("top")
    boss = await world.boss("boss", under=top)
    worker = await world.join("w", under=boss)
    await lose(world, boss)
    await lose(world, top)
    resume = SessionRecovery(session_id=top.name, step=RecoveryStep.RESUME, due_at=world.clock.now())
    await world.store.write(lambda tx: tx.recoveries.put(resume))
    await recover(world)
    plan = await world.store.read(lambda tx: tx.recoveries.get(boss.name))
    assert plan.due_at == world.clock.now() + timedelta(seconds=limits.resume_check_seconds)
    assert await parent(world, worker) == boss.name and await open_asks(world) == []


async def test_a_revived_coordinator_keeps_its_workers(world: World) -> None:
    top = await world.boss("top")
    boss = await world.boss("boss", under=top)
    worker = await world.join("w", under=boss)
    await lose(world, boss)
    plan = await world.store.read(lambda tx: tx.recoveries.get(boss.name))
    await world.store.write(lambda tx: sessions.revive_session(tx, sessions.hash_token(world.tokens[boss.name])))
    await world.store.write(lambda tx: orphans.hand_over_workers(tx, plan))
    assert await parent(world, worker) == boss.name
    assert await world.store.read(lambda tx: orphans.workers_of(tx, plan)) == []


async def test_the_person_gets_a_new_ask_if_the_chosen_coordinator_ends_before_the_adoption(world: World) -> None:
    boss, other = await world.boss("boss"), await world.boss("other")
    await world.join("w", under=boss)
    await lose(world, boss)
    await recover(world)
    (first,) = await open_asks(world)
    await answer(world, first, "adopt by other")
    await world.end(other)
    await recover(world)
    (second,) = await open_asks(world)
    assert second.id != first.id and "adopt by other" not in second.choices
