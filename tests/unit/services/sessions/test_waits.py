"""A wait for sessions ends when the sessions have the wanted status, at the timeout or with the waiting session."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from maestro.core import errors
from maestro.domain.documents import ReportKind
from maestro.operations import sessions as ops
from maestro.operations.sessions import SessionWaitUntil
from maestro.services.sessions import lifecycle
from maestro.services.sessions.waits import SessionWaits
from maestro.services.tasks import session_report as session_reports

World = Any


def wait(world: World, by: Any, *sessions: Any, until: str = "completed", **fields: Any) -> asyncio.Task[Any]:
    values: dict[str, Any] = {"timeout": 60_000} | fields
    request = ops.WaitSessions(ids=[session.name for session in sessions], until=SessionWaitUntil(until), **values)
    return asyncio.create_task(SessionWaits(world.store, world.hub, world.presence).wait_for_sessions(by, request))


async def let_waits_read(world: World) -> None:
    """Give every woken wait the time to read the store again."""
    for _ in range(5):
        await world.store.read(lambda tx: tx.at)


async def set_status(world: World, caller: Any, status: str) -> None:
    await world.do(lifecycle.record_heartbeat, ops.SendHeartbeat(status=ops.SessionStatus(status)), by=caller)


async def test_a_completed_session_ends_the_wait_at_once(world: World) -> None:
    worker = await world.join("w")
    await world.end(worker, "completed")
    found = await wait(world, world.dana, worker)
    assert found.reached and [session.status for session in found.sessions] == ["completed"]
    assert (await wait(world, world.dana, worker, until="any-change")).reached


async def test_a_wait_ends_when_all_sessions_are_completed(world: World) -> None:
    boss = await world.boss("boss")
    one, two = await world.join("one", under=boss), await world.join("two", under=boss)
    waits = wait(world, boss, one, two)
    await let_waits_read(world)
    done = ops.ReportSession(kind=ReportKind.COMPLETE, text="done")
    await world.do(session_reports.report_work, done, by=one)
    await let_waits_read(world)
    assert not waits.done() and world.presence.connected_sessions() == [boss.name]
    await world.end(two, "completed")
    found = await waits
    assert found.reached and [session.status for session in found.sessions] == ["completed"] * 2


@pytest.mark.parametrize("end", ["failed", "stopped", "lost"])
async def test_a_wait_for_completion_ends_unreached_when_a_session_ends_with_another_status(
    world: World, end: str
) -> None:
    one, two = await world.join("one"), await world.join("two")
    waits = wait(world, world.dana, one, two)
    await let_waits_read(world)
    await world.end(one, end)
    found = await waits
    assert not found.reached and [session.status for session in found.sessions] == [end, "working"]


@pytest.mark.parametrize("status", ["idle", "needs_input"])
async def test_a_wait_for_a_status_ends_when_the_session_has_the_status(world: World, status: str) -> None:
    worker = await world.join("w")
    waits = wait(world, world.dana, worker, until=status)
    await let_waits_read(world)
    await set_status(world, worker, status)
    assert (await waits).reached
    assert (await wait(world, world.dana, worker, until=status)).reached


async def test_a_wait_for_any_change_counts_from_now_or_from_a_sequence_number(world: World) -> None:
    one, two = await world.join("one"), await world.join("two")
    first = await wait(world, world.dana, one, until="working")
    waits = wait(world, world.dana, one, two, until="any-change", since=first.seq)
    await let_waits_read(world)
    assert not waits.done()
    await set_status(world, two, "idle")
    found = await waits
    assert found.reached and [session.status for session in found.sessions] == ["working", "idle"]
    missed = await wait(world, world.dana, one, two, until="any-change", since=first.seq)
    assert missed.reached  # a change between two waits counts
    with pytest.raises(errors.TimedOut):
        await wait(world, world.dana, one, two, until="any-change", since=missed.seq, timeout=10)


async def test_mail_does_not_end_a_wait_for_any_change_of_a_session(world: World) -> None:
    worker = await world.join("w")
    waits = wait(world, world.dana, worker, until="any-change")
    await let_waits_read(world)
    await world.send(None, "w")
    await world.read(worker)
    await let_waits_read(world)
    assert not waits.done()
    await set_status(world, worker, "idle")
    assert (await waits).reached


async def test_an_earlier_end_of_a_session_does_not_end_a_later_wait_for_any_change(world: World) -> None:
    """A coordinator waits repeatedly for any change of its workers, so only new changes may end a wait."""
    one, two = await world.join("one"), await world.join("two")
    await world.end(one, "completed")
    seq = (await wait(world, world.dana, one, two, until="any-change")).seq
    waits = wait(world, world.dana, one, two, until="any-change", since=seq)
    await let_waits_read(world)
    assert not waits.done()
    await set_status(world, two, "idle")
    assert (await waits).reached
    await world.end(two)
    last = (await wait(world, world.dana, one, two, until="any-change", since=seq)).seq
    assert (
        await wait(world, world.dana, one, two, until="any-change", since=last)
    ).reached  # no session can change any more


async def test_the_timeout_of_a_wait_names_the_present_statuses_of_the_sessions(world: World) -> None:
    worker = await world.join("w")
    with pytest.raises(errors.TimedOut) as refused:
        await wait(world, world.dana, worker, timeout=10)
    assert "w is working" in refused.value.message and refused.value.data["sessions"][0]["status"] == "working"


async def test_a_wait_for_an_unknown_session_is_refused(world: World) -> None:
    worker = await world.join("w")
    with pytest.raises(errors.NotFound):
        await wait(world, worker, worker, world.coordinator)


async def test_the_end_of_the_waiting_session_ends_its_wait(world: World) -> None:
    worker, other = await world.join("w"), await world.join("other")
    waiting = wait(world, worker, other)
    async with asyncio.timeout(20):
        while worker.name not in world.presence.connected_sessions():
            await let_waits_read(world)
    assert not waiting.done()
    await world.end(worker)
    async with asyncio.timeout(5):
        with pytest.raises(errors.NotAuthenticated):
            await waiting
