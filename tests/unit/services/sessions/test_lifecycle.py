"""A registered session sends heartbeats, ends and may be revived; `whoami` names the identity of a caller."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from maestro.core import errors, limits
from maestro.domain.callers import Caller, Role
from maestro.domain.documents import ReportKind
from maestro.domain.members import Permission
from maestro.domain.sessions import ENDED_STATUSES, SessionStatus, StatusSource
from maestro.operations import mail_shapes, session_settings
from maestro.operations import sessions as ops
from maestro.services.mail import threads
from maestro.services.sessions import lifecycle
from maestro.services.tasks.session_report import report_work

World = Any


async def send_heartbeat(world: World, by: Any, status: SessionStatus | None = None) -> ops.HeartbeatAnswer:
    made: ops.HeartbeatAnswer = await world.do(lifecycle.record_heartbeat, ops.SendHeartbeat(status=status), by=by)
    return made


async def identify(world: World, caller: Any) -> ops.CallerIdentity:
    found: ops.CallerIdentity = await world.store.read(lambda tx: lifecycle.identify_caller(tx, caller, ops.WhoAmI()))
    return found


async def test_a_status_from_a_heartbeat_expires(world: World) -> None:
    worker = await world.join("w")
    assert (await send_heartbeat(world, worker, SessionStatus.IDLE)).status == "idle"
    session = await world.session(worker)
    assert session.status_source is StatusSource.HEARTBEAT
    assert session.status_until is not None
    assert (session.status_until - session.status_at).total_seconds() == limits.status_valid_seconds
    assert (
        await send_heartbeat(world, worker)
    ).status == "idle"  # a heartbeat without a status does not change the status
    changes = [event for event in await world.log() if event.kind == "session.status_changed"]
    assert [(event.data["from"], event.data["status"]) for event in changes] == [("working", "idle")]


@pytest.mark.parametrize("final", sorted(ENDED_STATUSES))
async def test_a_heartbeat_cannot_end_a_session(world: World, final: SessionStatus) -> None:
    worker = await world.join("w")
    with pytest.raises(errors.Invalid):
        await send_heartbeat(world, worker, final)


@pytest.mark.parametrize(
    ("final", "priority", "phrase"),
    [
        ("completed", "normal", "is done"),
        ("failed", "high", "has failed"),
        ("lost", "high", "is lost"),
        ("stopped", "normal", "has stopped"),
    ],
)
async def test_the_end_of_a_session_releases_tasks_and_threads_and_notifies_the_coordinator(
    world: World, final: str, priority: str, phrase: str
) -> None:
    boss = await world.boss("boss")
    worker = await world.join("w", under=boss)
    await world.task(held_by=worker)
    sent = await world.send(None, "vc")
    await world.do(threads.claim_thread, mail_shapes.OneThread(id=sent.id), by=worker)
    await world.end(worker, final)
    session = await world.session(worker)
    assert session.status == final and session.ended_at == world.clock.now()
    notices = [message for message in await world.unread(boss) if message.subject.startswith("w ")]
    assert [(message.subject, message.priority) for message in notices] == [(f"w {phrase}", priority)]
    task = await world.store.read(lambda tx: tx.tasks.by_number(boss.project_id, 1))
    assert (task.status, task.holder) == ("todo", None)
    assert await world.store.read(lambda tx: tx.deliveries.thread_holder(sent.thread_id)) is None
    with pytest.raises(errors.Conflict):
        await world.end(worker, final)
    with pytest.raises(errors.NotAuthenticated):
        await send_heartbeat(world, worker)


async def test_a_session_cannot_end_with_a_status_that_is_not_final(world: World) -> None:
    worker = await world.join("w")
    with pytest.raises(errors.Invalid):
        await world.end(worker, "idle")


async def test_a_session_ends_itself_and_the_sessions_below_only(world: World) -> None:
    boss = await world.boss("boss")
    worker, peer = await world.join("w", under=boss), await world.join("x", under=boss)
    for target in (peer, boss):
        with pytest.raises(errors.NotPermitted):
            await world.do(lifecycle.end_session, ops.EndSession(id=target.name), by=worker)
    await world.do(lifecycle.end_session, ops.EndSession(id="x"), by=boss)
    await world.do(lifecycle.end_session, ops.EndSession(), by=worker)
    assert [(await world.session(ended)).ended_at is not None for ended in (worker, peer, boss)] == [
        True,
        True,
        False,
    ]


async def test_the_identity_of_a_session_names_its_coordinator_its_tasks_and_its_unread_mail(world: World) -> None:
    boss = await world.boss("boss")
    worker = await world.join("w", under=boss)
    await world.task(held_by=worker)
    await world.send(None, "w")
    await world.send(None, "vc")
    found = await identify(world, worker)
    assert (found.name, found.project, found.held, found.unread) == ("w", "vc", ["vc#1"], 2)
    assert found.coordinator is not None and (found.coordinator.name, found.coordinator.fresh) == ("boss", True)
    await world.read(worker)
    assert (await identify(world, worker)).unread == 0
    world.clock.advance(limits.session_lease_without_process_seconds + 1)
    stale = (await identify(world, worker)).coordinator
    assert stale is not None and not stale.fresh
    assert (await identify(world, world.dana)).coordinator is None


async def test_a_lost_session_that_calls_again_is_revived(world: World) -> None:
    boss = await world.boss("boss")
    worker = await world.join("w", under=boss)
    token_hash = lifecycle.hash_token(f"token of {worker.name}")
    assert (
        await world.store.write(lambda tx: lifecycle.revive_session(tx, token_hash)) is None
    )  # the session is still live
    await world.end(worker, "lost")
    namesake = await world.join("w", under=boss)
    await world.read(boss)
    caller = await world.store.write(lambda tx: lifecycle.revive_session(tx, token_hash))
    assert caller is not None and caller.name == worker.name
    back = await world.session(worker)
    assert (back.status, back.ended_at) == ("working", None)
    assert back.name != "w" and back.name.startswith("w-") and (await world.session(namesake)).name == "w"
    assert back.lease_until > world.clock.now()
    assert "You were taken for lost" in await world.subjects(caller)
    assert await world.subjects(boss) == [f"{back.name} is back"]


@pytest.mark.parametrize("how", ["completed", "failed", "stopped"])
async def test_an_ended_session_that_was_not_lost_is_not_revived(world: World, how: str) -> None:
    worker = await world.join("w")
    await world.end(worker, how)
    token_hash = lifecycle.hash_token(f"token of {worker.name}")
    assert await world.store.write(lambda tx: lifecycle.revive_session(tx, token_hash)) is None


async def test_a_session_ends_sessions_at_every_level_below(world: World) -> None:
    top = await world.boss("top")
    middle = await world.join("middle", by=top)
    bottom = await world.join("bottom", by=middle)
    with pytest.raises(errors.NotPermitted):
        await world.do(lifecycle.end_session, ops.EndSession(id="top"), by=middle)
    await world.do(lifecycle.end_session, ops.EndSession(id=bottom.name), by=top)
    assert (await world.session(bottom)).ended_at is not None


async def test_a_heartbeat_renews_the_lease_and_the_claims(world: World) -> None:
    worker = await world.join("w")
    await world.task(held_by=worker)
    world.clock.advance(60)
    answer = await send_heartbeat(world, worker)
    assert answer.renewed == 1
    session = await world.session(worker)
    assert session.seen_at == world.clock.now()
    assert session.lease_until == world.clock.now() + timedelta(seconds=limits.session_lease_without_process_seconds)


async def test_a_heartbeat_without_a_new_status_is_not_written_soon_after_another_sign_of_life(world: World) -> None:
    worker = await world.join("w")
    heartbeats = lifecycle.Heartbeats(world.store)
    registered_at = (await world.session(worker)).seen_at
    world.clock.advance(limits.presence_store_seconds - 1)
    await heartbeats.answer_heartbeat(worker, ops.SendHeartbeat(status=SessionStatus.WORKING))
    assert (await world.session(worker)).seen_at == registered_at
    world.clock.advance(1)
    await heartbeats.answer_heartbeat(worker, ops.SendHeartbeat())
    assert (await world.session(worker)).seen_at == world.clock.now()


async def test_a_heartbeat_with_a_new_status_or_a_claim_is_written_at_once(world: World) -> None:
    worker = await world.join("w")
    heartbeats = lifecycle.Heartbeats(world.store)
    world.clock.advance(1)
    answer = await heartbeats.answer_heartbeat(worker, ops.SendHeartbeat(status=SessionStatus.IDLE))
    assert answer.status == "idle" and (await world.session(worker)).seen_at == world.clock.now()
    await world.task(held_by=worker)
    world.clock.advance(1)
    assert (await heartbeats.answer_heartbeat(worker, ops.SendHeartbeat())).renewed == 1


async def test_the_end_of_a_session_with_its_reported_status_posts_no_second_notice(world: World) -> None:
    boss = await world.boss("boss")
    worker = await world.join("w", under=boss)
    await world.do(report_work, ops.ReportSession(kind=ReportKind.COMPLETE, text="done"), by=worker)
    await world.end(worker, "completed")
    assert await world.subjects(boss) == ["w has completed"]


async def test_the_identity_of_the_person_has_no_session(world: World) -> None:
    await world.task(held_by=world.dana)
    found = await identify(world, world.dana)
    assert (found.role, found.name, found.session, found.held) == ("person", "dana", None, ["vc#1"])
    unknown = await identify(world, Caller(Role.NOBODY, ""))
    assert unknown.held == []


async def test_only_the_recorded_process_of_a_session_counts_as_running(world: World) -> None:
    worker = await world.join("w", pid=os.getpid())
    session = await world.session(worker)
    assert lifecycle.is_process_running(session)
    assert not lifecycle.is_process_running(msgspec.structs.replace(session, pid_started="another start"))
    assert not lifecycle.is_process_running(msgspec.structs.replace(session, pid=None))


def test_a_session_without_a_process_has_a_longer_lease() -> None:
    assert lifecycle.lease_seconds(1) == limits.session_lease_seconds
    assert lifecycle.lease_seconds(None) == limits.session_lease_without_process_seconds


async def test_a_grant_is_stored_and_logged(world: World) -> None:
    worker = await world.join("w")
    granted = await world.do(
        lifecycle.set_grant, session_settings.GrantSession(id=worker.name, grant=Permission.FULL)
    )
    assert granted.grant is Permission.FULL
    (event,) = [event for event in await world.log() if event.kind == "session.granted"]
    assert event.data["grant"] == "full" and event.data["name"] == "w"


async def test_new_tokens_replace_the_tokens_of_all_sessions(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "page_items_max", 2)
    workers = [await world.join(f"w{number}") for number in range(5)]
    await world.store.write(lambda tx: lifecycle.replace_tokens(tx, lambda session_id: f"new {session_id}"))

    def find(tx: Any, token: str) -> Any:
        return tx.sessions.caller_by_token(lifecycle.hash_token(token))

    for worker in workers:
        caller = await world.store.read(lambda tx, name=worker.name: find(tx, f"new {name}"))
        assert caller is not None and caller.name == worker.name
        assert await world.store.read(lambda tx, name=worker.name: find(tx, f"token of {name}")) is None
