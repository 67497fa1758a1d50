"""Waiting for sessions: what has happened already answers at once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from maestro.core import errors
from maestro.domain.documents import ReportKind
from maestro.operations import sessions as ops
from maestro.operations.sessions import SessionWaitUntil
from maestro.services.sessions import lifecycle as sessions
from maestro.services.sessions.waits import SessionWaits
from maestro.services.tasks import session_report as session_reports

World = Any


def wait(world: World, by: Any, *who: Any, until: str = "completed", **fields: Any) -> asyncio.Task[Any]:
    values: dict[str, Any] = {"timeout": 60_000} | fields
    request = ops.WaitSessions(ids=[one.name for one in who], until=SessionWaitUntil(until), **values)
    return asyncio.create_task(SessionWaits(world.store, world.hub, world.presence).wait_for_sessions(by, request))


async def settled(world: World) -> None:
    """Until whatever could be awake has had its turn."""
    for _ in range(5):
        await world.store.read(lambda tx: tx.at)


async def say(world: World, caller: Any, status: str) -> None:
    await world.do(sessions.record_heartbeat, ops.SendHeartbeat(status=ops.SessionStatus(status)), by=caller)


async def test_one_that_has_finished_answers_at_once(world: World) -> None:
    worker = await world.join("w")
    await world.end(worker, "completed")
    found = await wait(world, world.dana, worker)
    assert found.reached and [one.status for one in found.sessions] == ["completed"]
    assert (await wait(world, world.dana, worker, until="any-change")).reached


async def test_it_waits_until_all_are_there(world: World) -> None:
    boss = await world.boss("boss")
    one, two = await world.join("one", under=boss), await world.join("two", under=boss)
    waits = wait(world, boss, one, two)
    await settled(world)
    done = ops.ReportSession(kind=ReportKind.COMPLETE, text="done")
    await world.do(session_reports.report_work, done, by=one)
    await settled(world)
    assert not waits.done() and world.presence.connected_sessions() == [boss.name]
    await world.end(two, "completed")
    found = await waits
    assert found.reached and [one.status for one in found.sessions] == ["completed"] * 2


@pytest.mark.parametrize("end", ["failed", "stopped", "lost"])
async def test_what_can_no_longer_be_ends_the_wait_too(world: World, end: str) -> None:
    one, two = await world.join("one"), await world.join("two")
    waits = wait(world, world.dana, one, two)
    await settled(world)
    await world.end(one, end)
    found = await waits
    assert not found.reached and [session.status for session in found.sessions] == [end, "working"]


@pytest.mark.parametrize("status", ["idle", "needs_input"])
async def test_a_status_can_be_waited_for(world: World, status: str) -> None:
    worker = await world.join("w")
    waits = wait(world, world.dana, worker, until=status)
    await settled(world)
    await say(world, worker, status)
    assert (await waits).reached
    assert (await wait(world, world.dana, worker, until=status)).reached


async def test_any_change_from_now_on_or_since_a_place_in_the_log(world: World) -> None:
    one, two = await world.join("one"), await world.join("two")
    first = await wait(world, world.dana, one, until="working")
    waits = wait(world, world.dana, one, two, until="any-change", since=first.seq)
    await settled(world)
    assert not waits.done()
    await say(world, two, "idle")
    found = await waits
    assert found.reached and [session.status for session in found.sessions] == ["working", "idle"]
    missed = await wait(world, world.dana, one, two, until="any-change", since=first.seq)
    assert missed.reached  # what happened between two waits counts
    with pytest.raises(errors.TimedOut):
        await wait(world, world.dana, one, two, until="any-change", since=missed.seq, timeout=10)


async def test_mail_is_no_change_of_a_session(world: World) -> None:
    worker = await world.join("w")
    waits = wait(world, world.dana, worker, until="any-change")
    await settled(world)
    await world.send(None, "w")
    await world.read(worker)
    await settled(world)
    assert not waits.done()
    await say(world, worker, "idle")
    assert (await waits).reached


async def test_one_that_ended_before_does_not_drown_the_others(world: World) -> None:
    """A coordinator that waits for any change of its workers, again and again, is not woken for ever by the first
    that is done."""
    one, two = await world.join("one"), await world.join("two")
    await world.end(one, "completed")
    seq = (await wait(world, world.dana, one, two, until="any-change")).seq
    waits = wait(world, world.dana, one, two, until="any-change", since=seq)
    await settled(world)
    assert not waits.done()
    await say(world, two, "idle")
    assert (await waits).reached
    await world.end(two)
    last = (await wait(world, world.dana, one, two, until="any-change", since=seq)).seq
    assert (await wait(world, world.dana, one, two, until="any-change", since=last)).reached  # nothing more can come


async def test_a_timeout_names_where_they_stand(world: World) -> None:
    worker = await world.join("w")
    with pytest.raises(errors.TimedOut) as refused:
        await wait(world, world.dana, worker, timeout=10)
    assert "w is working" in refused.value.message and refused.value.data["sessions"][0]["status"] == "working"


async def test_whom_there_is_not_cannot_be_waited_for(world: World) -> None:
    worker = await world.join("w")
    with pytest.raises(errors.NotFound):
        await wait(world, worker, worker, world.coordinator)
