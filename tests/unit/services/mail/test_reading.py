"""Callers read inboxes, sent mail and the mail of projects and tasks in order and in pages."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from maestro.core import errors, limits
from maestro.domain.messages import HUMAN_MAILBOX, MessageType
from maestro.domain.priorities import Priority
from maestro.operations import mail_shapes as ops
from maestro.services.mail import receipts

World = Any
VC, OTHER = "prj_00000000000000000000000000", "prj_00000000000000000000000001"


async def inbox(world: World, caller: Any, **fields: Any) -> ops.InboxPage:
    found: ops.InboxPage = await world.reading.read_inbox(caller, ops.ReadInbox(**fields))
    return found


async def test_a_session_reads_its_own_mailbox_and_its_shared_mailboxes(world: World) -> None:
    await world.member("ada")
    worker = await world.join("w", member="ada", path="/src/dave/vc")
    await world.join("x")
    for to in ("w", "@ada", "dave/vc", "vc", "human", "x"):
        await world.send(None, to, subject=to)
    assert await world.subjects(worker) == ["w", "@ada", "dave/vc", "vc"]
    assert await world.subjects() == ["human"]


async def test_the_most_urgent_mail_of_all_mailboxes_comes_first_and_then_the_oldest(world: World) -> None:
    worker = await world.join("w")
    for to, priority in (("w", "low"), ("vc", "normal"), ("w", "normal"), ("vc", "critical"), ("w", "high")):
        await world.send(None, to, subject=f"{to} {priority}", priority=Priority(priority))
    assert await world.subjects(worker) == ["vc critical", "w high", "vc normal", "w normal", "w low"]
    page = await inbox(world, worker, peek=True, limit=2)
    rest = await inbox(world, worker, peek=True, limit=9, cursor=page.cursor)
    assert [one.subject for one in rest.messages] == ["vc normal", "w normal", "w low"]


async def test_an_inbox_is_filtered_by_type_task_and_priority(world: World) -> None:
    worker = await world.join("w")
    await world.task()
    await world.send(None, "w", subject="query", type=MessageType.QUERY)
    await world.send(None, "w", subject="task", task="vc#1", priority=Priority.HIGH)
    assert await world.subjects(worker, type=MessageType.QUERY) == ["query"]
    assert await world.subjects(worker, task="#1") == ["task"]
    assert await world.subjects(worker, priority=Priority.HIGH) == ["task"]
    with pytest.raises(errors.NotFound):
        await world.unread(worker, task="#9")


async def test_all_mail_is_listed_newest_first_and_only_new_mail_is_confirmed(world: World) -> None:
    worker = await world.join("w")
    old = await world.send(None, "w", subject="old")
    await world.read(worker)
    await world.send(None, "vc", subject="mid")
    await world.send(None, "w", subject="new", priority=Priority.LOW)
    page = await inbox(world, worker, all=True, limit=2)
    assert [(one.subject, one.status) for one in page.messages] == [("new", "sent"), ("mid", "sent")] and page.more
    rest = await inbox(world, worker, all=True, limit=2, cursor=page.cursor)
    assert [(one.subject, one.status) for one in rest.messages] == [("old", "read")]
    assert rest.receipt == "" and rest.cursor is None
    before = await world.store.read(lambda tx: tx.deliveries.get(worker.name, 1))
    await world.do(receipts.confirm, ops.ConfirmReceipt(receipt=page.receipt), by=worker)
    assert await world.unread(worker) == []
    assert await world.store.read(lambda tx: tx.deliveries.get(worker.name, 1)) == before
    assert await world.states(old) == {worker.name: "read"}
    assert (await inbox(world, worker, all=True, peek=True)).receipt == ""


async def test_a_page_says_whether_the_caller_wants_messages_grouped_by_thread(world: World) -> None:
    worker = await world.join("w")
    await world.send(None, "w")
    assert (await inbox(world, worker, thread=True)).grouped and not (await inbox(world, worker)).grouped


@pytest.mark.parametrize("cursor", ["x", "1", "1.x", ".1", "-1.2", "1.2.3", "1." + "9" * 40, "²·³"])
async def test_an_invalid_cursor_of_an_inbox_is_refused(world: World, cursor: str) -> None:
    with pytest.raises(errors.Invalid):
        await inbox(world, world.dana, cursor=cursor)


async def test_the_person_and_the_sessions_above_read_an_inbox_without_marking_mail(world: World) -> None:
    top = await world.boss("top")
    boss = await world.boss("boss", under=top)
    worker, peer = await world.join("w", under=boss), await world.join("x", under=boss)
    sent = await world.send(None, "w", subject="For w")
    for caller in (boss, top, world.dana):
        page = await inbox(world, caller, of=worker.name)
        assert [one.subject for one in page.messages] == ["For w"] and page.receipt == ""
    assert [one.subject for one in (await inbox(world, boss, of="w", all=True)).messages] == ["For w"]
    for caller in (peer, worker):
        other = boss if caller is worker else worker
        with pytest.raises(errors.NotPermitted):
            await inbox(world, caller, of=other.name)
    assert await world.states(sent) == {worker.name: "sent"}
    with pytest.raises(errors.NotFound):
        await inbox(world, boss, of="nobody")
    await world.end(worker)
    with pytest.raises(errors.Conflict):
        await inbox(world, boss, of="w")


async def test_an_inbox_page_says_whether_the_coordinator_was_heard_recently(world: World) -> None:
    boss = await world.boss("boss")
    worker = await world.join("w", under=boss)
    told = (await inbox(world, worker)).coordinator
    assert told is not None and (told.name, told.fresh) == ("boss", True)
    world.clock.advance(limits.session_lease_without_process_seconds + 1)
    stale = (await inbox(world, worker)).coordinator
    assert stale is not None and not stale.fresh
    assert world.clock.now() - stale.last_seen > timedelta(seconds=limits.session_lease_seconds)
    assert (await inbox(world, boss)).coordinator is None and (await inbox(world, world.dana)).coordinator is None


async def test_a_shown_message_has_a_receipt_for_its_recipients_only(world: World) -> None:
    worker, peer = await world.join("w"), await world.join("x")
    sent = await world.send(None, "w", subject="Hello")
    request = ops.OneMessage(id=sent.id)
    shown = await world.store.read(lambda tx: world.reading.show_message(tx, worker, request))
    assert shown.subject == "Hello" and shown.receipt and [one.name for one in shown.deliveries] == ["w"]
    for caller in (peer, world.dana):
        assert (await world.store.read(lambda tx, c=caller: world.reading.show_message(tx, c, request))).receipt == ""


async def test_sent_mail_is_listed_with_the_status_of_its_deliveries(world: World) -> None:
    worker, peer = await world.join("w"), await world.join("x")
    for number in range(3):
        await world.send(worker, "x", subject=str(number))
    await world.send(peer, "human")
    await world.read(peer)
    page = await world.store.read(lambda tx: world.reading.list_sent_mail(tx, worker, ops.SentPage(limit=2)))
    assert [(one.subject, one.deliveries[0].status) for one in page.messages] == [("2", "read"), ("1", "read")]
    rest = ops.SentPage(limit=2, cursor=page.cursor)
    page = await world.store.read(lambda tx: world.reading.list_sent_mail(tx, worker, rest))
    assert [one.subject for one in page.messages] == ["0"] and page.cursor is None


async def test_only_sessions_of_a_project_and_the_person_read_its_inbox_and_no_mail_is_marked(world: World) -> None:
    worker, stranger = await world.join("w"), await world.join("s", project=OTHER)
    for number in range(3):
        await world.send(None, "vc", subject=str(number))
    request = ops.ProjectInbox(project="vc", limit=2)
    page = await world.store.read(lambda tx: world.reading.read_project_inbox(tx, world.dana, request))
    assert [one.subject for one in page.messages] == ["0", "1"] and page.more and page.receipt == ""
    rest = ops.ProjectInbox(project="vc", limit=2, cursor=page.cursor)
    page = await world.store.read(lambda tx: world.reading.read_project_inbox(tx, worker, rest))
    assert [one.subject for one in page.messages] == ["2"] and page.cursor is None
    with pytest.raises(errors.NotPermitted):
        await world.store.read(lambda tx: world.reading.read_project_inbox(tx, stranger, request))
    first = (await world.unread(worker))[0]
    await world.do(receipts.acknowledge_messages, ops.AcknowledgeMail(ids=[first.id]), by=worker)
    every = ops.ProjectInbox(project="vc", all=True)
    page = await world.store.read(lambda tx: world.reading.read_project_inbox(tx, world.dana, every))
    assert [(one.subject, one.status) for one in page.messages] == [
        ("2", "sent"),
        ("1", "sent"),
        ("0", "acknowledged"),
    ]


async def test_the_person_has_one_mailbox_for_all_projects(world: World) -> None:
    here, there = await world.join("w"), await world.join("s", project=OTHER)
    for caller in (here, there):
        await world.send(caller, "human", subject=caller.title)
    received = await world.unread()
    assert [(one.subject, one.sender.project, one.mailbox) for one in received] == [
        ("w", "vc", HUMAN_MAILBOX),
        ("s", "other", HUMAN_MAILBOX),
    ]


async def test_pages_of_the_mail_of_a_task_continue_after_messages_that_the_caller_may_not_see(world: World) -> None:
    stranger, worker = await world.join("stranger", project=OTHER), await world.join("w")
    task = await world.task()
    for number in range(4):
        await world.send(stranger, worker.name, subject=f"theirs {number}", task=task.ref)
        await world.send(worker, "human", subject=f"inside {number}", task=task.ref)

    async def subjects(by: Any, limit: int) -> list[str]:
        found: list[str] = []
        cursor: str | None = ""
        while cursor is not None:
            request = ops.TaskMail(id=task.id, limit=limit, cursor=cursor)
            page = await world.store.read(lambda tx, request=request: world.reading.list_task_mail(tx, by, request))
            found += [one.subject for one in page.messages]
            cursor = page.cursor
        return found

    for limit in (1, 2, 3, 8):
        assert await subjects(stranger, limit) == [f"theirs {number}" for number in (3, 2, 1, 0)]
        assert len(await subjects(worker, limit)) == 8
