"""Handing workers to another coordinator: who may, and what comes with them."""

from __future__ import annotations

from typing import Any

import pytest

from maestro.core import errors
from maestro.operations import sessions as ops
from maestro.services.sessions import adoption

World = Any
OTHER = "prj_00000000000000000000000001"


async def adopt(world: World, by: Any, *who: Any, into: Any = None) -> ops.AdoptedSessions:
    request = ops.AdoptSessions(ids=[one.name for one in who], by=into.name if into else None)
    made: ops.AdoptedSessions = await world.do(adoption.adopt_sessions, request, by=by)
    return made


async def parent(world: World, caller: Any) -> str | None:
    found: str | None = (await world.session(caller)).parent_id
    return found


async def test_the_person_hands_anyone_to_any_coordinator(world: World) -> None:
    boss, heir = await world.boss("boss"), await world.boss("heir")
    worker, loner = await world.join("w", under=boss), await world.join("loner")
    made = await adopt(world, None, worker, loner, worker, into=heir)
    assert (made.by, [one.name for one in made.sessions]) == (heir.name, ["w", "loner"])
    assert await parent(world, worker) == await parent(world, loner) == heir.name
    (notice,) = await world.unread(worker)
    assert notice.subject == "heir is your coordinator now" and heir.name in notice.body
    adopted = [event for event in await world.log() if event.kind == "session.adopted"]
    assert [(event.subject, event.data["by"], event.data["was"]) for event in adopted] == [
        (worker.name, heir.name, boss.name),
        (loner.name, heir.name, None),
    ]


async def test_a_coordinator_that_is_gone_is_succeeded_workers_and_mail(world: World) -> None:
    boss, heir = await world.boss("boss"), await world.boss("heir")
    one, two = await world.join("one", under=boss), await world.join("two", under=boss)
    ended = await world.join("ended", under=boss)
    await world.end(ended)
    await world.end(boss, "lost")
    made = await adopt(world, heir, boss)
    assert {session.name for session in made.sessions} == {"one", "two"}
    assert await parent(world, one) == await parent(world, two) == heir.name
    assert (await world.session(boss)).successor_id == heir.name
    (reached,) = (await world.send(None, "boss", subject="For boss")).deliveries
    assert reached.box == heir.name and reached.reason == "boss has ended (lost); the message goes to heir"


async def test_who_may(world: World) -> None:
    top = await world.boss("top")
    boss, rival = await world.boss("boss", under=top), await world.boss("rival", under=top)
    worker, peer = await world.join("w", under=boss), await world.join("x", under=boss)
    with pytest.raises(errors.NotPermitted) as refused:
        await adopt(world, rival, worker)
    assert "Ask boss or the person" in refused.value.hint
    with pytest.raises(errors.NotPermitted):
        await adopt(world, rival, worker, into=top)  # rival is not above top
    await adopt(world, top, worker, into=rival)  # both are below it
    assert await parent(world, worker) == rival.name
    await adopt(world, boss, peer, into=boss)
    await world.end(boss)
    await adopt(world, rival, peer)  # its coordinator is gone
    assert await parent(world, peer) == rival.name


async def test_nobody_comes_to_be_above_itself(world: World) -> None:
    top = await world.boss("top")
    boss = await world.boss("boss", under=top)
    for who, into in ((top, boss), (boss, boss)):
        with pytest.raises(errors.Conflict):
            await adopt(world, None, who, into=into)
    assert (await parent(world, top), await parent(world, boss)) == (None, top.name)


async def test_only_a_live_coordinator_of_the_same_project_adopts(world: World) -> None:
    worker, other = await world.join("w"), await world.join("x")
    ended, far = await world.boss("ended"), await world.boss("far", project=OTHER)
    await world.end(ended)
    for into in (other, ended, far):
        with pytest.raises(errors.Conflict):
            await adopt(world, None, worker, into=into)
    with pytest.raises(errors.Invalid):
        await adopt(world, None, worker)
    assert await parent(world, worker) is None


async def test_nobody_to_adopt_is_said_and_changes_nothing(world: World) -> None:
    boss, heir = await world.boss("boss"), await world.boss("heir")
    await world.end(boss)
    with pytest.raises(errors.NotFound):
        await adopt(world, None, boss, into=heir)
    with pytest.raises(errors.NotFound):
        await world.do(adoption.adopt_sessions, ops.AdoptSessions(ids=["nobody"], by=heir.name))


async def test_one_that_may_not_be_taken_leaves_all_where_they_were(world: World) -> None:
    boss, rival = await world.boss("boss"), await world.boss("rival")
    gone = await world.boss("gone")
    orphan, worker = await world.join("orphan", under=gone), await world.join("w", under=boss)
    await world.end(gone)
    with pytest.raises(errors.NotPermitted):
        await adopt(world, rival, orphan, worker)
    assert await parent(world, orphan) == gone.name
