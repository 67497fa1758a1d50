"""Unread mail of an ended session goes to a live session or to the person, and expired mail is logged."""

from __future__ import annotations

from typing import Any

import pytest

from maestro.core import limits
from maestro.domain.documents import ReportKind
from maestro.domain.messages import HUMAN_MAILBOX, MessageType
from maestro.domain.priorities import Priority
from maestro.operations.sessions import AdoptSessions, ReportSession
from maestro.services.recovery.ended_mailboxes import EndedMailboxJob
from maestro.services.sessions import adoption
from maestro.services.tasks import session_report
from maestro.store.repositories.deliveries import MessageFilter

World = Any


async def settle(world: World) -> int:
    """Run the job until no mail is left, and return the number of rounds that found mail."""
    job, rounds = EndedMailboxJob(world.store), 0
    while await job.run_once() is not None:
        rounds += 1
    return rounds


async def report_kind(world: World, caller: Any, kind: str, text: str) -> None:
    await world.do(session_report.report_work, ReportSession(kind=ReportKind(kind), text=text), by=caller)


async def test_unread_mail_of_an_ended_session_goes_to_its_coordinator_with_a_reason(world: World) -> None:
    boss = await world.boss("boss")
    worker = await world.join("w", under=boss)
    read = await world.send(None, "w", subject="read")
    await world.read(worker)
    left = await world.send(None, "w", subject="left", priority=Priority.CRITICAL)
    await world.end(worker, "failed")
    await world.read(boss)
    assert await settle(world) == 1
    (one,) = await world.unread(boss)
    assert (one.subject, one.priority, one.reason) == (
        "left",
        "critical",
        "w has ended (failed); the message goes to boss",
    )
    assert await world.states(left) == {worker.name: "expired", boss.name: "sent"}
    assert await world.states(read) == {worker.name: "read"}
    (expired,) = [
        d for d in await world.store.read(lambda tx: tx.deliveries.of_message(2)) if d.mailbox == worker.name
    ]
    assert (expired.via, expired.reason) == ("rerouted", one.reason) and expired.expired_at is not None
    (event,) = [event for event in await world.log() if event.kind == "mail.rerouted"]
    assert (event.subject, event.data["from"], event.data["to"]) == (left.id, worker.name, [boss.name])
    assert await settle(world) == 0  # no mail is left


async def test_mail_that_an_ended_session_did_not_read_to_the_end_goes_to_the_person(world: World) -> None:
    worker = await world.join("w")
    sent = await world.send(None, "w", message="x" * (limits.inbox_body_chars_max + 1))
    await world.read(worker)
    assert await world.states(sent) == {worker.name: "delivered"}
    await world.end(worker)
    await settle(world)
    assert await world.states(sent) == {worker.name: "expired", HUMAN_MAILBOX: "sent"}


async def test_a_notification_to_an_ended_session_expires_and_is_logged(world: World) -> None:
    boss = await world.boss("boss")
    worker = await world.join("w", under=boss)
    notice = await world.send(None, "w", type=MessageType.NOTIFICATION)
    await world.end(worker)
    await world.read(boss)
    await settle(world)
    assert await world.states(notice) == {worker.name: "expired"} and await world.unread(boss) == []
    (event,) = [event for event in await world.log() if event.kind == "mail.expired"]
    assert event.subject == notice.id and event.data["to"] == []


@pytest.mark.parametrize("status", ["failed", "stopped"])
async def test_reports_of_workers_to_an_ended_coordinator_go_to_the_person(world: World, status: str) -> None:
    boss = await world.boss("boss")
    worker = await world.join("w", under=boss)
    await report_kind(world, worker, "progress", "Half of it.")
    await world.end(boss, status)
    await report_kind(world, worker, "progress", "Nearly all of it.")
    await settle(world)
    told = [one for one in await world.unread() if one.sender.name == "w"]
    assert sorted(one.body for one in told) == ["Half of it.", "Nearly all of it."]
    assert all(one.reason and "boss has ended" in one.reason for one in told)


async def test_reports_of_workers_to_a_completed_coordinator_do_not_go_to_the_person(world: World) -> None:
    boss = await world.boss("boss")
    worker = await world.join("w", under=boss)
    await report_kind(world, worker, "progress", "Half of it.")
    await world.end(boss, "completed")
    await report_kind(world, worker, "progress", "Nearly all of it.")
    await settle(world)
    assert [one for one in await world.unread() if one.sender.name == "w"] == []


async def test_the_person_gets_no_mail_of_workers_that_ended_after_their_coordinator(world: World) -> None:
    boss = await world.boss("boss")
    worker = await world.join("w", under=boss)
    await world.end(boss)
    await world.end(worker)
    await settle(world)
    assert [one for one in await world.unread() if one.sender.name == "w"] == []


async def test_a_coordinator_that_is_also_a_recipient_gets_the_message_once(world: World) -> None:
    boss = await world.boss("boss")
    worker = await world.join("w", under=boss)
    sent = await world.send(None, "w", "boss", subject="both")
    await world.end(worker)
    await settle(world)
    assert (await world.subjects(boss)).count("both") == 1
    assert (await world.states(sent))[boss.name] == "sent"


async def test_rerouted_mail_goes_further_up_when_the_new_recipient_ends(world: World) -> None:
    top = await world.boss("top")
    boss = await world.boss("boss", under=top)
    worker = await world.join("w", under=boss)
    sent = await world.send(None, "w", subject="left")
    for caller in (worker, boss, top):
        await world.end(caller)
        await settle(world)
    assert await world.states(sent) == {
        worker.name: "expired",
        boss.name: "expired",
        top.name: "expired",
        HUMAN_MAILBOX: "sent",
    }
    (one,) = [message for message in await world.unread() if message.subject == "left"]
    assert one.reason == "top has ended (stopped), and no session above it is active"


async def test_a_successor_gets_the_unread_mail_of_an_ended_coordinator(world: World) -> None:
    boss, heir = await world.boss("boss"), await world.boss("heir")
    await world.join("w", under=boss)
    await world.send(None, "boss", subject="left")
    await world.end(boss, "lost")
    await world.do(adoption.adopt_sessions, AdoptSessions(ids=[boss.name], by=heir.name))
    await settle(world)
    assert "left" in await world.subjects(heir)


async def test_the_mail_of_a_full_mailbox_is_rerouted_in_several_rounds(world: World) -> None:
    worker = await world.join("w")
    count = limits.job_batch_rows_max + 1
    for _ in range(count):
        await world.send(None, "w")
    await world.end(worker)
    assert await settle(world) == 2
    gone_on = await world.store.read(
        lambda tx: tx.deliveries.list_offered(HUMAN_MAILBOX, reader="dana", wanted=MessageFilter(), limit=2 * count)
    )
    assert len(gone_on) == count
