"""Callers list sessions, see a session with related sessions, and get the evidence for its status."""

from __future__ import annotations

import os
from typing import Any

import pytest

from maestro.core import errors, limits
from maestro.domain.documents import ReportKind
from maestro.operations import asks as ask_ops
from maestro.operations import sessions as ops
from maestro.services.asks import asks
from maestro.services.sessions import lifecycle as sessions
from maestro.services.sessions import views as session_views
from maestro.services.sessions.views import SessionExplainer
from maestro.services.tasks import session_report as session_reports

World = Any
OTHER = "prj_00000000000000000000000001"


async def family(world: World) -> dict[str, Any]:
    boss = await world.boss("boss")
    made = {"boss": boss}
    for name in ("a", "b", "c", "d"):
        made[name] = await world.join(name, under=boss)
    made["loner"] = await world.join("loner")
    await world.join("far", project=OTHER)
    await world.end(made["b"], "failed")
    await world.do(session_reports.report_work, ops.ReportSession(kind=ReportKind.ERROR, text="stuck"), by=made["d"])
    return made


async def test_a_session_is_shown_with_its_coordinator_its_siblings_and_its_workers(world: World) -> None:
    made = await family(world)
    await world.task(held_by=made["a"])
    await world.send(None, "a")
    await world.do(asks.create_ask, ask_ops.CreateAsk(title="Port?"), by=made["a"])

    async def show(by: Any, ref: str) -> ops.SessionDetail:
        found: ops.SessionDetail = await world.store.read(
            lambda tx: session_views.show_session(
                tx, by, ops.OneSession(id=ref, project="" if by.is_session else "vc")
            )
        )
        return found

    one = await show(made["c"], "a")
    assert one.coordinator is not None and (one.coordinator.name, one.coordinator.fresh) == ("boss", True)
    assert [other.name for other in one.siblings] == ["c", "d"]
    assert (one.held, one.unread, [ask.title for ask in one.asks]) == (["vc#1"], 1, ["Port?"])
    assert (one.status, one.status_source) == ("needs_input", "report")
    boss = await show(world.dana, "session:boss")
    assert [worker.name for worker in boss.workers] == ["a", "c", "d"] and boss.coordinator is None
    assert (await show(world.dana, made["b"].name)).status == "failed"
    with pytest.raises(errors.NotFound):
        await show(world.dana, "nobody")


async def explain(world: World, ref: str) -> ops.SessionExplanation:
    explaining = SessionExplainer(world.store, world.presence)
    return await explaining.explain_session(world.dana, ops.OneSession(id=ref, project="vc"))


async def test_an_explanation_lists_the_evidence_for_a_status(world: World) -> None:
    worker = await world.join("w", pid=os.getpid())
    world.clock.advance(1)
    await world.do(sessions.record_heartbeat, ops.SendHeartbeat(status=ops.SessionStatus.IDLE), by=worker)
    found = await explain(world, "w")
    assert [(signal.source, signal.status) for signal in found.signals] == [
        ("heartbeat", "idle"),
        ("report", "working"),
    ]
    assert found.signals[0].until is not None and found.signals[1].until is None
    assert found.is_process_alive and not found.is_lease_expired and not found.has_sign_of_life
    assert found.verdict == "The session is alive: its lease runs and its process runs."
    world.presence.record_sign(worker.name)
    assert "it gave a sign of life" in (await explain(world, "w")).verdict


async def test_an_explanation_uses_the_monotonic_clock_as_the_lost_session_job_does(world: World) -> None:
    await world.join("w")
    session = await world.store.read(lambda tx: tx.sessions.by_name(world.coordinator.project_id, "w"))
    world.presence.record_sign(session.id)
    world.clock.advance(limits.session_lease_seconds + 60)
    world.clock.jump(3600)  # the wall clock is set ahead, but the session has not been silent for long
    found = await explain(world, "w")
    assert found.is_lease_expired and found.has_sign_of_life and "is alive" in found.verdict


async def test_an_explanation_names_sessions_that_will_be_lost_or_have_ended(world: World) -> None:
    worker = await world.join("w")
    world.clock.advance(limits.session_lease_without_process_seconds + 1)
    found = await explain(world, "w")
    assert found.is_lease_expired and found.is_process_alive is None
    assert found.verdict == "The session shows no sign of life any more: it will be marked as lost."
    await world.end(worker, "failed")
    assert (await explain(world, "w")).verdict == "The session ended as failed."


async def test_a_caller_of_another_project_gets_no_details_of_signals_and_asks(world: World) -> None:
    worker = await world.join("w")
    stranger = await world.join("stranger", project=OTHER)
    await world.do(asks.create_ask, ask_ops.CreateAsk(title="Port?"), by=worker)
    request = ops.OneSession(id=worker.name)
    shown = await world.store.read(lambda tx: session_views.show_session(tx, stranger, request))
    assert (shown.name, shown.asks, shown.usage) == ("w", [], [])
    explained = await SessionExplainer(world.store, world.presence).explain_session(stranger, request)
    assert explained.signals and not any(signal.detail for signal in explained.signals)
    own = await SessionExplainer(world.store, world.presence).explain_session(worker, request)
    assert any(signal.detail for signal in own.signals)


async def test_require_live_session_refuses_an_ended_session(world: World) -> None:
    worker = await world.join("w")
    session_views.require_live_session(await world.session(worker))
    await world.end(worker, "failed")
    with pytest.raises(errors.Conflict, match=r"w has ended \(failed\)"):
        session_views.require_live_session(await world.session(worker))
