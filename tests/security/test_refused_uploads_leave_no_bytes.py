"""Tests that a refused request leaves no file, and removes no file of an accepted request."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from maestro.core import errors, limits
from maestro.domain.callers import Caller
from maestro.operations import documents as document_ops
from maestro.operations import issues as issue_ops
from maestro.operations import mail as mail_ops
from maestro.operations import mail_shapes
from maestro.operations import projects as project_ops
from maestro.operations import tasks as task_ops
from maestro.server.app import Server

Join = Callable[..., Any]
BIG = b"x" * (limits.inline_bytes_max + 1)


@pytest.fixture
async def other(server: Server, dana: Caller, make_repo: Callable[..., Path]) -> str:
    """Register a second project and return its id."""
    request = project_ops.LocateProject(path=str(make_repo("other")))
    place = await server.call(project_ops.LOCATE, request, caller=dana)
    found: str = place.project.id
    return found


def stored(server: Server) -> list[Path]:
    """Return all files and folders in the folder of large contents."""
    return sorted((server.home / "blobs").rglob("*"))


def files(server: Server) -> list[Path]:
    return [path for path in stored(server) if path.is_file()]


def letter(*to: str, content: bytes = BIG, **fields: Any) -> mail_shapes.SendMail:
    attach = [mail_shapes.MailFile(file_name="log.txt", content=content)]
    return mail_shapes.SendMail(to=list(to), subject="s", message="b", attach=attach, **fields)


async def make_task(server: Server, dana: Caller, project: str) -> Any:
    return await server.call(task_ops.CREATE, task_ops.CreateTask(project=project, title="t"), caller=dana)


# Tests of requests that are refused before the server stores a file


async def test_a_refused_document_for_a_task_of_another_project_leaves_no_file(
    server: Server, dana: Caller, join: Join, other: str
) -> None:
    stranger, task = await join("stranger"), await make_task(server, dana, other)
    request = document_ops.AddDocument(id=task.id, title="d", file_name="d.txt", content=BIG)
    with pytest.raises(errors.NotPermitted):
        await server.call(document_ops.ADD, request, caller=stranger)
    assert stored(server) == []


async def test_a_refused_document_for_a_task_that_the_worker_does_not_hold_leaves_no_file(
    server: Server, dana: Caller, join: Join, vc: str
) -> None:
    worker, task = await join("worker"), await make_task(server, dana, vc)
    request = document_ops.AddDocument(id=task.id, title="d", file_name="d.txt", content=BIG)
    with pytest.raises(errors.NotHeld):
        await server.call(document_ops.ADD, request, caller=worker)
    assert stored(server) == []


async def test_refused_mail_to_an_unknown_recipient_leaves_no_file(server: Server, join: Join) -> None:
    worker = await join("worker")
    with pytest.raises(errors.NotFound):
        await server.call(mail_ops.SEND, letter("nobody-at-all"), caller=worker)
    assert stored(server) == []


async def test_refused_mail_with_a_long_body_to_an_unknown_recipient_leaves_no_file(
    server: Server, join: Join
) -> None:
    request = mail_shapes.SendMail(to=["nobody-at-all"], subject="s", message="x" * limits.message_chars_max)
    with pytest.raises(errors.NotFound):
        await server.call(mail_ops.SEND, request, caller=await join("worker"))
    assert stored(server) == []


async def test_mail_that_is_refused_by_the_rate_limit_leaves_no_file(server: Server, join: Join) -> None:
    worker, victim = await join("worker"), await join("victim")
    for _ in range(limits.mail_per_minute_default):
        request = mail_shapes.SendMail(to=[victim.name], subject="s", message="b")
        await server.call(mail_ops.SEND, request, caller=worker)
    with pytest.raises(errors.TooFast):
        await server.call(mail_ops.SEND, letter(victim.name), caller=worker)
    assert stored(server) == []


async def test_mail_that_the_receiving_project_refuses_leaves_no_file(
    server: Server, dana: Caller, join: Join, other: str
) -> None:
    await server.call(
        project_ops.EDIT,
        project_ops.EditProject(project=other, inbound=project_ops.InboundPolicy.CLOSED),
        caller=dana,
    )
    worker = await join("worker")
    opening = issue_ops.OpenIssue(to="other", title="t", message="b", attach=letter().attach)
    with pytest.raises(errors.NotPermitted):
        await server.call(issue_ops.OPEN, opening, caller=worker)
    with pytest.raises(errors.NotPermitted):
        await server.call(mail_ops.SEND, letter("other"), caller=worker)
    assert stored(server) == []


async def test_a_refused_reply_to_mail_of_another_project_leaves_no_file(
    server: Server, dana: Caller, join: Join, other: str
) -> None:
    worker, stranger = await join("worker"), await join("stranger", project=other)
    sent = await server.call(
        mail_ops.SEND, mail_shapes.SendMail(to=[worker.name], subject="s", message="b"), caller=dana
    )
    request = mail_shapes.ReplyMail(id=sent.id, message="b", attach=letter().attach)
    with pytest.raises(errors.NotFound):
        await server.call(mail_ops.REPLY, request, caller=stranger)
    assert stored(server) == []


async def test_a_refused_broadcast_without_recipients_leaves_no_file(server: Server, join: Join) -> None:
    request = mail_shapes.BroadcastMail(scope="my-workers", subject="s", message="b", attach=letter().attach)
    with pytest.raises(errors.NotFound):
        await server.call(mail_ops.BROADCAST, request, caller=await join("boss", mode="coordinate"))
    assert stored(server) == []


# Tests of requests that are refused after the server has stored a file


async def looped(server: Server, join: Join) -> tuple[Caller, str]:
    """Let two agents answer each other up to the limit. Return the agent that is refused next, and the last id."""
    one, two = await join("one"), await join("two")
    last = await server.call(mail_ops.SEND, mail_shapes.SendMail(to=[two.name], subject="s", message="b"), caller=one)
    for _ in range(limits.mail_hops_max):
        one, two = two, one
        last = await server.call(mail_ops.REPLY, mail_shapes.ReplyMail(id=last.id, message="b"), caller=one)
    return two, last.id


async def test_a_file_of_a_request_that_is_refused_later_is_removed(server: Server, join: Join) -> None:
    refused, last = await looped(server, join)
    request = mail_shapes.ReplyMail(id=last, message="b", attach=letter().attach)
    with pytest.raises(errors.Looping):
        await server.call(mail_ops.REPLY, request, caller=refused)
    assert files(server) == []


async def test_a_refused_request_does_not_remove_the_file_of_an_accepted_request(server: Server, join: Join) -> None:
    """Send the same content in refused and accepted requests at the same time, in every order."""
    refused, last = await looped(server, join)
    sender, receiver = await join("sender"), await join("receiver")

    async def fail(content: bytes) -> None:
        attach = [mail_shapes.MailFile(file_name="f", content=content)]
        with contextlib.suppress(errors.Looping):
            await server.call(
                mail_ops.REPLY, mail_shapes.ReplyMail(id=last, message="b", attach=attach), caller=refused
            )

    for number in range(30):
        content = BIG + str(number).encode()
        good = server.call(mail_ops.SEND, letter(receiver.name, content=content), caller=sender)
        calls = [fail(content), good, fail(content)]
        done = await asyncio.gather(*calls[number % 3 :], *calls[: number % 3])
        sent = next(one for one in done if one is not None)
        message = await server.store.read(lambda tx, sent=sent: tx.mail.get(sent.id))
        request = mail_shapes.OneAttachment(id=message.attachments[0].id)
        found = await server.call(mail_ops.ATTACHMENT, request, caller=receiver)
        assert found.content == content
    assert len(files(server)) == 30


async def test_a_file_that_a_row_names_stays_after_a_refused_request(server: Server, join: Join) -> None:
    refused, last = await looped(server, join)
    await server.call(mail_ops.SEND, letter("human"), caller=refused)
    with pytest.raises(errors.Looping):
        request = mail_shapes.ReplyMail(id=last, message="b", attach=letter().attach)
        await server.call(mail_ops.REPLY, request, caller=refused)
    assert len(files(server)) == 1


async def test_rows_and_files_agree_after_a_caller_goes_away(server: Server, dana: Caller, vc: str) -> None:
    task = await make_task(server, dana, vc)
    for number in range(10):
        content = BIG + str(number).encode()
        request = document_ops.AddDocument(id=task.id, title="d", file_name="d.txt", content=content)
        call = asyncio.create_task(server.call(document_ops.ADD, request, caller=dana))
        for _ in range(number):
            await asyncio.sleep(0)
        call.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await call
    uploads = [task for task in asyncio.all_tasks() if "_upload" in str(task.get_coro())]
    await asyncio.gather(*uploads, return_exceptions=True)
    added = (await server.call(document_ops.LIST, task_ops.OneTask(id=task.id), caller=dana)).documents
    assert added and len(added) == len(files(server))
    for document in added:
        shown = await server.call(document_ops.SHOW, document_ops.OneDocument(id=document.id), caller=dana)
        assert shown.content.startswith(BIG)


async def test_a_repeated_upload_gets_the_first_answer_although_it_would_now_be_refused(
    server: Server, join: Join
) -> None:
    worker, victim = await join("worker"), await join("victim")
    first = await server.call(mail_ops.SEND, letter(victim.name), caller=worker, key="once")
    with pytest.raises(errors.TooFast):
        while True:
            request = mail_shapes.SendMail(to=[victim.name], subject="s", message="b")
            await server.call(mail_ops.SEND, request, caller=worker)
    again = await server.call(mail_ops.SEND, letter(victim.name), caller=worker, key="once")
    assert again.id == first.id and len(files(server)) == 1
