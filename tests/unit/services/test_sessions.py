"""A session's life as a record: registering, signs of life, its word about itself, its end."""

from __future__ import annotations

import os
from typing import Any

import pytest

from maestro.core import errors, limits
from maestro.domain.members import Tool
from maestro.domain.sessions import ENDED_STATUSES, SessionMode, SessionStatus, StatusSource
from maestro.operations import mail_shapes
from maestro.operations import sessions as ops
from maestro.services.mail import threads
from maestro.services.sessions import lifecycle as sessions
from maestro.services.sessions import status
from maestro.testing.factories import make_session

World = Any
OTHER, DAVE = "prj_00000000000000000000000001", "wsp_00000000000000000000000000"


async def beat(world: World, by: Any, say: SessionStatus | None = None) -> ops.HeartbeatAnswer:
    made: ops.HeartbeatAnswer = await world.do(sessions.record_heartbeat, ops.SendHeartbeat(status=say), by=by)
    return made


async def whoami(world: World, caller: Any) -> ops.CallerIdentity:
    found: ops.CallerIdentity = await world.store.read(lambda tx: sessions.identify_caller(tx, caller, ops.WhoAmI()))
    return found


async def test_a_record_says_what_it_was_registered_with(world: World) -> None:
    await world.member("ada", tool=Tool.CODEX)
    boss = await world.boss("boss")
    task = await world.task()
    caller = await world.join("w", under=boss, member="@Ada", task=["#1"], path="/src/dave/vc/deep", pid=os.getpid())
    session = await world.session(caller)
    assert (session.mode, session.status, session.status_source) == (SessionMode.EXECUTE, "working", "report")
    assert (session.parent_id, session.member, session.tool, session.tasks) == (boss.name, "ada", "codex", [task.id])
    assert (session.workspace_id, session.address, session.pid) == (DAVE, "dave/vc", os.getpid())
    assert (await world.session(boss)).status == "idle"
    assert (await world.session(await world.join("t", tool="claude"))).tool == "claude"
    named = await world.session(await world.join(None))  # type: ignore[arg-type]
    assert named.name.startswith("execute-") and named.id.endswith(named.name[-6:])


async def test_whoever_a_session_registers_is_its_child(world: World) -> None:
    boss = await world.boss("boss")
    child = await world.join("w", by=boss)
    assert child.parent_id == boss.name


async def test_no_member_project_or_name_that_is_not_there_or_taken(world: World) -> None:
    await world.join("w")
    for fields, error in (
        ({"member": "nobody"}, errors.NotFound),
        ({"task": ["#9"]}, errors.NotFound),
        ({"project": "nothing"}, errors.NotFound),
    ):
        with pytest.raises(error):
            await world.join("x", **fields)
    with pytest.raises(errors.NameTaken) as refused:
        await world.join("w")
    assert "maestro session end ses_" in refused.value.hint
    ended = await world.boss("ended")
    far = await world.boss("far", project=OTHER)
    await world.end(ended)
    for under in (ended, far):
        with pytest.raises(errors.Conflict):
            await world.join("x", under=under)


async def test_a_word_of_ones_own_stands_and_a_beats_word_grows_old(world: World) -> None:
    worker = await world.join("w")
    assert (await beat(world, worker, SessionStatus.IDLE)).status == "idle"
    session = await world.session(worker)
    assert session.status_source is StatusSource.HEARTBEAT
    assert session.status_until is not None
    assert (session.status_until - session.status_at).total_seconds() == limits.status_valid_seconds
    assert (await beat(world, worker)).status == "idle"  # a beat without a word changes nothing
    changes = [event for event in await world.log() if event.kind == "session.status_changed"]
    assert [(event.data["from"], event.data["status"]) for event in changes] == [("working", "idle")]


async def test_of_two_words_in_one_moment_the_last_counts(world: World) -> None:
    worker = await world.join("w")
    for word, source in (
        (SessionStatus.IDLE, StatusSource.HEARTBEAT),
        (SessionStatus.WORKING, StatusSource.REPORT),
        (SessionStatus.NEEDS_INPUT, StatusSource.HOOK),
        (SessionStatus.IDLE, StatusSource.HEARTBEAT),
    ):
        session = await world.session(worker)
        said = await world.store.write(
            lambda tx, w=word, s=source, session=session: status.apply_signal(tx, session, w, source=s, actor="x")
        )
        assert said.status is word


@pytest.mark.parametrize("final", sorted(ENDED_STATUSES))
async def test_a_beat_cannot_end_a_session(world: World, final: SessionStatus) -> None:
    worker = await world.join("w")
    with pytest.raises(errors.Invalid):
        await beat(world, worker, final)


@pytest.mark.parametrize(
    ("how", "told", "words"),
    [
        ("completed", "normal", "is done"),
        ("failed", "high", "has failed"),
        ("lost", "high", "is lost"),
        ("stopped", "normal", "has stopped"),
    ],
)
async def test_an_end_is_told_and_takes_everything_with_it(world: World, how: str, told: str, words: str) -> None:
    boss = await world.boss("boss")
    worker = await world.join("w", under=boss)
    await world.task(held_by=worker)
    sent = await world.send(None, "vc")
    await world.do(threads.claim_thread, mail_shapes.OneThread(id=sent.id), by=worker)
    await world.end(worker, how)
    session = await world.session(worker)
    assert session.status == how and session.ended_at == world.clock.now()
    notices = [message for message in await world.unread(boss) if message.subject.startswith("w ")]
    assert [(message.subject, message.priority) for message in notices] == [(f"w {words}", told)]
    task = await world.store.read(lambda tx: tx.tasks.by_number(boss.project_id, 1))
    assert (task.status, task.holder) == ("todo", None)
    assert await world.store.read(lambda tx: tx.deliveries.thread_holder(sent.thread_id)) is None
    with pytest.raises(errors.Conflict):
        await world.end(worker, how)
    with pytest.raises(errors.NotAuthenticated):
        await beat(world, worker)


async def test_an_end_is_a_final_status(world: World) -> None:
    worker = await world.join("w")
    with pytest.raises(errors.Invalid):
        await world.end(worker, "idle")


async def test_one_ends_itself_and_those_below_and_no_others(world: World) -> None:
    boss = await world.boss("boss")
    worker, peer = await world.join("w", under=boss), await world.join("x", under=boss)
    for target in (peer, boss):
        with pytest.raises(errors.NotPermitted):
            await world.do(sessions.end_session, ops.EndSession(id=target.name), by=worker)
    await world.do(sessions.end_session, ops.EndSession(id="x"), by=boss)
    await world.do(sessions.end_session, ops.EndSession(), by=worker)
    assert [(await world.session(one)).ended_at is not None for one in (worker, peer, boss)] == [True, True, False]


async def test_workers_hear_that_their_coordinator_is_gone_and_whom_they_have(world: World) -> None:
    top = await world.boss("top")
    boss = await world.boss("boss", under=top)
    one = await world.join("one", under=boss)
    below = await world.join("below", under=one)
    await world.end(boss, "failed")
    (notice,) = await world.unread(one)
    assert (notice.subject, notice.priority) == ("Your coordinator boss is failed", "high")
    assert "goes to top" in notice.body and await world.unread(below) == []


async def test_every_worker_hears_it_however_many_there_are(world: World) -> None:
    boss = await world.boss("boss")
    count = limits.job_batch_rows_max + 1
    many = [make_session(name=f"w{number}", parent_id=boss.name) for number in range(count)]
    await world.store.write(lambda tx: [tx.sessions.insert(one, token_hash=one.id, member_id=None) for one in many])
    await world.end(boss)
    unread = await world.store.read(lambda tx: [tx.deliveries.has_open(one.id) for one in many])
    assert all(unread)


async def test_who_one_is_with_coordinator_and_unread(world: World) -> None:
    boss = await world.boss("boss")
    worker = await world.join("w", under=boss)
    await world.task(held_by=worker)
    await world.send(None, "w")
    await world.send(None, "vc")
    found = await whoami(world, worker)
    assert (found.name, found.project, found.held, found.unread) == ("w", "vc", ["vc#1"], 2)
    assert found.coordinator is not None and (found.coordinator.name, found.coordinator.fresh) == ("boss", True)
    await world.read(worker)
    assert (await whoami(world, worker)).unread == 0
    world.clock.advance(limits.session_lease_without_process_seconds + 1)
    stale = (await whoami(world, worker)).coordinator
    assert stale is not None and not stale.fresh
    assert (await whoami(world, world.dana)).coordinator is None


async def test_one_that_was_called_lost_and_speaks_is_back(world: World) -> None:
    boss = await world.boss("boss")
    worker = await world.join("w", under=boss)
    token_hash = sessions.hash_token(f"token of {worker.name}")
    assert await world.store.write(lambda tx: sessions.revive_session(tx, token_hash)) is None  # it is alive
    await world.end(worker, "lost")
    namesake = await world.join("w", under=boss)
    await world.read(boss)
    caller = await world.store.write(lambda tx: sessions.revive_session(tx, token_hash))
    assert caller is not None and caller.name == worker.name
    back = await world.session(worker)
    assert (back.status, back.ended_at) == ("working", None)
    assert back.name != "w" and back.name.startswith("w-") and (await world.session(namesake)).name == "w"
    assert back.lease_until > world.clock.now()
    assert "You were taken for lost" in await world.subjects(caller)
    assert await world.subjects(boss) == [f"{back.name} is back"]


@pytest.mark.parametrize("how", ["completed", "failed", "stopped"])
async def test_what_someone_has_ended_stays_ended(world: World, how: str) -> None:
    worker = await world.join("w")
    await world.end(worker, how)
    token_hash = sessions.hash_token(f"token of {worker.name}")
    assert await world.store.write(lambda tx: sessions.revive_session(tx, token_hash)) is None
