"""Callers send and answer mail with recipients, threads, tasks and attachments."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from maestro.core import errors, limits
from maestro.domain.messages import HUMAN_MAILBOX, Message, MessageType, SenderKind
from maestro.domain.priorities import Priority
from maestro.operations import mail_shapes as ops

World = Any
VC, OTHER, DAVE = "prj_00000000000000000000000000", "prj_00000000000000000000000001", "wsp_00000000000000000000000000"


async def stored(world: World, sent: Any) -> Message:
    found = await world.store.read(lambda tx: tx.mail.get(sent.id))
    assert found is not None
    return found  # type: ignore[no-any-return]


async def test_a_message_is_attested_stored_and_logged(world: World) -> None:
    boss = await world.boss("boss", path="/src/dave/vc")
    worker = await world.join("w", under=boss)
    sent = await world.send(
        boss, "w", subject="Rebase", message="Now.", type=MessageType.ASSIGNMENT, priority=Priority.HIGH
    )
    (one,) = sent.deliveries
    assert (one.mailbox, one.name, one.status, one.reason) == (worker.name, "w", "sent", None)
    message = await stored(world, sent)
    assert (message.subject, message.body, message.to) == ("Rebase", "Now.", ["w"])
    assert (message.type, message.priority) == (MessageType.ASSIGNMENT, Priority.HIGH)
    assert (message.thread_id, message.parent_id, message.hops) == (message.id, None, 0)
    sender = message.sender
    assert (sender.kind, sender.id, sender.name, sender.address, sender.human, sender.project) == (
        SenderKind.SESSION,
        boss.name,
        "boss",
        "dave/vc",
        "dana",
        "vc",
    )
    (event,) = [event for event in await world.log() if event.kind == "mail.sent"]
    assert (event.subject, event.project, event.actor) == (sent.id, VC, boss.name)
    assert event.data["to"] == [worker.name] and event.data["thread"] == sent.id


async def test_the_person_is_the_sender_of_mail_of_the_person(world: World) -> None:
    await world.join("w")
    sender = (await stored(world, await world.send(None, "w"))).sender
    assert (sender.kind, sender.id, sender.name) == (SenderKind.PERSON, "dana", "dana")


async def test_the_default_type_of_a_message_depends_on_the_sender(world: World) -> None:
    boss = await world.boss("boss")
    worker = await world.join("w", under=boss)
    types = [(await stored(world, await world.send(by, "human"))).type for by in (boss, worker)]
    assert types == [MessageType.DIRECTIVE, MessageType.STATUS_UPDATE]
    assert (await stored(world, await world.send(None, "w"))).type is MessageType.DIRECTIVE
    chosen = [(await stored(world, await world.send(boss, "w", type=kind))).type for kind in MessageType]
    assert chosen == list(MessageType)


async def test_all_named_recipients_get_the_message_once(world: World) -> None:
    boss, ada = await world.boss("boss"), await world.member("ada")
    worker, peer = await world.join("w", under=boss), await world.join("x", under=boss)
    sent = await world.send(worker, "x", peer.name, "dave/vc", to_member=["ada"], to_coordinator=True)
    assert {one.mailbox for one in sent.deliveries} == {peer.name, DAVE, ada.id, boss.name}
    assert len(sent.deliveries) == 4
    assert (await stored(world, sent)).to == ["x", peer.name, "dave/vc", "member:ada", "coordinator"]


async def test_a_missing_or_unknown_recipient_stops_the_message(world: World) -> None:
    worker = await world.join("w")
    with pytest.raises(errors.Invalid):
        await world.send(worker)
    with pytest.raises(errors.NotFound):
        await world.send(worker, "human", "nobody")
    assert await world.unread() == []


async def test_the_sender_learns_where_mail_to_an_ended_session_went(world: World) -> None:
    boss = await world.boss("boss")
    worker = await world.join("w", under=boss)
    await world.end(worker, "completed")
    (one,) = (await world.send(None, "w", subject="Still there?")).deliveries
    assert (one.mailbox, one.reason) == (boss.name, "w has ended (completed); the message goes to boss")
    received = await world.unread(boss)
    assert [message.reason for message in received if message.subject == "Still there?"] == [one.reason]


async def test_mail_to_a_task_joins_the_thread_of_the_task_and_is_listed_with_the_task(world: World) -> None:
    boss = await world.boss("boss")
    worker = await world.join("w", under=boss)
    task = await world.task(held_by=worker)
    about = await stored(world, await world.send(boss, "human", task="#1"))
    assert (about.task_id, about.task) == (task.id, "vc#1")
    with pytest.raises(errors.NotFound):
        await world.send(boss, "human", task="#9")
    one = await world.send(boss, "vc#1", subject="How far?")
    two = await world.send(boss, "task:vc#1")
    three = await world.send(None, task.id)
    assert {two.thread_id, three.thread_id} == {one.thread_id} == {about.thread_id}
    listed = await world.store.read(lambda tx: world.reading.list_task_mail(tx, boss, ops.TaskMail(id="#1", limit=3)))
    assert [message.id for message in listed.messages] == [three.id, two.id, one.id] and listed.cursor
    rest = ops.TaskMail(id="#1", cursor=listed.cursor)
    listed = await world.store.read(lambda tx: world.reading.list_task_mail(tx, boss, rest))
    assert [message.id for message in listed.messages] == [about.id] and listed.cursor is None
    aside = await world.send(boss, "w", task="#1")  # mail about the task to another recipient starts a new thread
    assert aside.thread_id == aside.id


async def test_a_session_may_post_to_the_mailbox_of_another_project(world: World) -> None:
    stranger, worker = await world.join("s", project=OTHER), await world.join("w")
    request = ops.PostToProject(project="vc", subject="Your API broke", message="Since today.")
    sent = await world.do(world.sending.post_to_project, request, by=stranger)
    assert [one.mailbox for one in sent.deliveries] == [VC]
    (received,) = await world.unread(worker)
    assert (received.subject, received.sender.project, received.to) == ("Your API broke", "other", ["project:vc"])
    assert await world.unread(stranger) == []


async def test_attachments_and_large_bodies_are_stored_in_files(world: World) -> None:
    await world.join("w")
    large, body = b"\x00\xff" * limits.inline_bytes_max, "ä" * (limits.inbox_body_chars_max + 1)
    files = [ops.MailFile(file_name=f"f{number}", content=bytes([number])) for number in range(3)]
    files.append(ops.MailFile(file_name="core.log", content=large))
    sent = await world.send(None, "w", message=body, attach=files)
    assert len(world.blobs.all_files()) == 2
    show = ops.OneMessage(id=sent.id)
    shown = await world.store.read(lambda tx: world.reading.show_message(tx, world.dana, show))
    assert shown.body == body and not shown.truncated
    assert [(one.file_name, one.bytes) for one in shown.attachments] == [
        ("f0", 1),
        ("f1", 1),
        ("f2", 1),
        ("core.log", len(large)),
    ]
    for attachment, content in zip(shown.attachments, [b"\0", b"\1", b"\2", large], strict=True):
        ask = ops.OneAttachment(id=attachment.id)
        found = await world.store.read(lambda tx, ask=ask: world.reading.read_attachment(tx, world.dana, ask))
        assert (found.content, found.bytes) == (content, len(content))


async def test_only_readers_of_a_message_read_its_attachments(world: World) -> None:
    await world.join("w")
    stranger = await world.join("s", project=OTHER)
    sent = await world.send(None, "w", attach=[ops.MailFile(file_name="f", content=b"x")])
    (attachment,) = (await stored(world, sent)).attachments
    for caller, request in ((stranger, attachment.id), (world.dana, "att_none")):
        with pytest.raises(errors.NotFound):
            await world.store.read(
                lambda tx, c=caller, r=request: world.reading.read_attachment(tx, c, ops.OneAttachment(id=r))
            )


def test_the_total_size_of_attachments_is_limited(world: World) -> None:
    half = ops.MailFile(file_name="f", content=b"x" * limits.attachment_bytes_max)
    request = ops.SendMail(subject="s", message="b", attach=[half, half])
    world.sending.store_contents(request, world.blobs.store_content)
    with pytest.raises(errors.TooLarge):
        world.sending.store_contents(
            msgspec.structs.replace(request, attach=[half, half, ops.MailFile(file_name="g", content=b"x")]),
            world.blobs.store_content,
        )


async def test_an_answer_goes_to_the_sender_and_stays_in_the_thread(world: World) -> None:
    boss = await world.boss("boss")
    worker = await world.join("w", under=boss)
    await world.task(held_by=worker)
    asked = await world.send(worker, to_coordinator=True, subject="Port?", priority=Priority.HIGH, task="#1")
    answer = await stored(world, await world.reply(boss, asked, "8081"))
    assert (answer.thread_id, answer.parent_id, answer.subject) == (asked.id, asked.id, "Re: Port?")
    assert (answer.type, answer.priority, answer.task) == (MessageType.RESPONSE, Priority.HIGH, "vc#1")
    assert await world.states(answer) == {worker.name: "sent"}
    again = await stored(
        world, await world.reply(worker, answer, "taken too", subject="Other", type=MessageType.QUERY)
    )
    assert (again.thread_id, again.parent_id, again.subject) == (asked.id, answer.id, "Other")
    assert again.type is MessageType.QUERY and await world.states(again) == {boss.name: "sent"}


async def test_an_answer_to_an_own_message_goes_to_the_recipients_of_that_message(world: World) -> None:
    boss = await world.boss("boss")
    one, two = await world.join("one", under=boss), await world.join("two", under=boss)
    sent = await world.send(boss, "one", "two", "human")
    more = await world.reply(boss, sent, "PS")
    assert await world.states(more) == {one.name: "sent", two.name: "sent", HUMAN_MAILBOX: "sent"}


async def test_an_answer_to_the_person_or_to_an_ended_session_is_delivered(world: World) -> None:
    boss = await world.boss("boss")
    worker = await world.join("w", under=boss)
    from_dana, from_worker = await world.send(None, "w"), await world.send(worker, to_coordinator=True)
    assert await world.states(await world.reply(worker, from_dana)) == {HUMAN_MAILBOX: "sent"}
    await world.end(worker)
    (one,) = (await world.reply(None, from_worker)).deliveries
    assert one.mailbox == boss.name and "w has ended" in one.reason


async def test_an_answer_of_the_person_belongs_to_the_project_of_the_thread(world: World) -> None:
    worker, stranger = await world.join("w"), await world.join("s", project=OTHER)
    asked = await world.send(worker, "human", subject="Secret?")
    answer = await world.reply(None, asked, project="other")  # the person answers from a directory of another project
    for caller, sees in ((worker, True), (stranger, False)):
        visible = await world.store.read(lambda tx, c=caller: tx.mail.is_visible(answer.id, c.project_id))
        assert visible is sees
    (sent,) = [event for event in await world.log() if event.subject == answer.id]
    assert sent.project == VC


async def test_answers_to_the_server_and_to_hidden_messages_are_refused(world: World) -> None:
    boss = await world.boss("boss")
    worker = await world.join("w", under=boss)
    await world.end(boss)
    (notice,) = await world.unread(worker)
    assert notice.sender.kind is SenderKind.MAESTRO
    with pytest.raises(errors.Invalid) as refused:
        await world.reply(worker, notice)
    assert "maestro mail send" in refused.value.hint
    stranger = await world.join("s", project=OTHER)
    for message_id in (notice.id, "msg_none", "nonsense"):
        with pytest.raises(errors.NotFound):
            await world.reply(stranger, message_id)
