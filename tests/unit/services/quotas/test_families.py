"""A family is a top-level session and all sessions below the session."""

from __future__ import annotations

from typing import Any

from maestro.domain.callers import Caller
from maestro.operations import sessions as session_ops
from maestro.services.sessions import adoption

World = Any


async def top_of(world: World, caller: Caller) -> str:
    found: str = await world.store.read(lambda tx: world.families.top_of(tx, caller))
    return found


async def test_the_top_of_a_family_is_the_first_session_without_a_parent(world: World) -> None:
    boss = await world.boss("boss")
    worker = await world.join("worker", under=boss)
    helper = await world.join("helper", by=worker)
    assert [await top_of(world, one) for one in (helper, worker, boss)] == [boss.name] * 3


async def test_an_ended_parent_stays_the_top_of_its_family(world: World) -> None:
    boss = await world.boss("boss")
    worker = await world.join("worker", under=boss)
    await world.end(boss)
    assert await top_of(world, worker) == boss.name


async def test_an_adopted_session_belongs_to_the_family_of_its_new_parent(world: World) -> None:
    boss, successor = await world.boss("boss"), await world.boss("successor")
    worker = await world.join("worker", under=boss)
    assert await top_of(world, worker) == boss.name
    await world.do(adoption.adopt_sessions, session_ops.AdoptSessions(ids=[worker.name], by=successor.name))
    world.families.forget_families()  # as the server does after an adoption
    assert await top_of(world, await world.caller(worker.name)) == successor.name
