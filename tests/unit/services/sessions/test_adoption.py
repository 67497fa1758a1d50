"""A coordinator adopts workers of another coordinator, within the rights of the caller, and gets its mail."""

from __future__ import annotations

from typing import Any

import pytest

from maestro.core import errors
from maestro.operations import sessions as ops
from maestro.services.sessions import adoption

World = Any
OTHER = "prj_00000000000000000000000001"


async def adopt(world: World, by: Any, *adopted: Any, into: Any = None) -> ops.AdoptedSessions:
    request = ops.AdoptSessions(ids=[session.name for session in adopted], by=into.name if into else None)
    made: ops.AdoptedSessions = await world.do(adoption.adopt_sessions, request, by=by)
    return made


async def parent(world: World, caller: Any) -> str | None:
    found: str | None = (await world.session(caller)).parent_id
    return found


async def test_the_person_gives_any_worker_to_any_coordinator(world: World) -> None:
    boss, heir = await world.boss("boss"), await world.boss("heir")
    worker, loner = await world.join("w", under=boss), await world.join("loner")
    made = await adopt(world, None, worker, loner, worker, into=heir)
    assert (made.by, [session.name for session in made.sessions]) == (heir.name, ["w", "loner"])
    assert await parent(world, worker) == await parent(world, loner) == heir.name
    (notice,) = await world.unread(worker)
    assert notice.subject == "heir is your coordinator now" and heir.name in notice.body
    adopted = [event for event in await world.log() if event.kind == "session.adopted"]
    assert [(event.subject, event.data["by"], event.data["was"]) for event in adopted] == [
        (worker.name, heir.name, boss.name),
        (loner.name, heir.name, None),
    ]


async def test_the_successor_of_an_ended_coordinator_gets_its_workers_and_its_mail(world: World) -> None:
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
    assert reached.mailbox == heir.name and reached.reason == "boss has ended (lost); the message goes to heir"


async def test_a_live_coordinator_or_a_session_above_decides_about_its_workers(world: World) -> None:
    top = await world.boss("top")
    boss, rival = await world.boss("boss", under=top), await world.boss("rival", under=top)
    worker, peer = await world.join("w", under=boss), await world.join("x", under=boss)
    with pytest.raises(errors.NotPermitted) as refused:
        await adopt(world, rival, worker)
    assert "Ask boss or the person" in refused.value.hint
    with pytest.raises(errors.NotPermitted):
        await adopt(world, rival, worker, into=top)  # the session rival is not above top
    await adopt(world, top, worker, into=rival)  # both coordinators are below top
    assert await parent(world, worker) == rival.name
    await adopt(world, boss, peer, into=boss)
    await world.end(boss)
    await adopt(world, rival, peer)  # the coordinator of the worker has ended
    assert await parent(world, peer) == rival.name


async def test_a_session_adopts_neither_itself_nor_a_session_above(world: World) -> None:
    top = await world.boss("top")
    boss = await world.boss("boss", under=top)
    for session, into in ((top, boss), (boss, boss)):
        with pytest.raises(errors.Conflict):
            await adopt(world, None, session, into=into)
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


async def test_an_adoption_of_a_coordinator_without_workers_is_refused(world: World) -> None:
    boss, heir = await world.boss("boss"), await world.boss("heir")
    await world.end(boss)
    with pytest.raises(errors.NotFound):
        await adopt(world, None, boss, into=heir)
    with pytest.raises(errors.NotFound):
        await world.do(adoption.adopt_sessions, ops.AdoptSessions(ids=["nobody"], by=heir.name))


async def test_a_refused_worker_prevents_the_whole_adoption(world: World) -> None:
    boss, rival = await world.boss("boss"), await world.boss("rival")
    gone = await world.boss("gone")
    orphan, worker = await world.join("orphan", under=gone), await world.join("w", under=boss)
    await world.end(gone)
    with pytest.raises(errors.NotPermitted):
        await adopt(world, rival, orphan, worker)
    assert await parent(world, orphan) == gone.name


async def test_only_the_person_gives_away_a_live_session_without_a_coordinator(world: World) -> None:
    rival, loner = await world.boss("rival"), await world.join("loner")
    with pytest.raises(errors.NotPermitted, match="is live and has no coordinator") as refused:
        await adopt(world, rival, loner)
    assert "Ask the person" in refused.value.hint


async def test_a_coordinator_that_did_not_request_the_adoption_gets_a_notice_with_the_workers(world: World) -> None:
    boss, heir = await world.boss("boss"), await world.boss("heir")
    worker = await world.join("w", under=boss)
    await world.end(boss)
    await adopt(world, None, boss, into=heir)
    (notice,) = await world.unread(heir)
    assert (notice.subject, notice.priority) == ("You are the coordinator of boss's workers now", "high")
    assert f"w ({worker.name})" in notice.body


async def test_a_coordinator_that_requests_the_adoption_gets_no_notice(world: World) -> None:
    boss, heir = await world.boss("boss"), await world.boss("heir")
    await world.join("w", under=boss)
    await world.end(boss)
    await adopt(world, heir, boss)
    assert await world.unread(heir) == []
