"""Tests of mail, the same on every surface. Only the confirmation that mail was shown differs."""

from __future__ import annotations

import asyncio
import base64
from typing import Any

import pytest

from maestro.core import errors, limits
from maestro.operations import mail, members, sessions, tasks

Surface = Any


async def send(surface: Surface, *to: str, by: str = "dana", **fields: Any) -> Any:
    values = {"subject": "Hello", "message": "World"} | fields
    return (
        await surface.call(mail.SEND, by=by, to=list(to), **values)
        if to
        else await surface.call(mail.SEND, by=by, **values)
    )


async def states(surface: Surface, message: Any, by: str = "dana") -> dict[str, str]:
    found = await surface.call(mail.STATUS, by=by, id=message["id"])
    return {one["name"]: one["status"] for one in found["deliveries"]}


async def subjects(surface: Surface, by: str, **fields: Any) -> list[str]:
    """Return the subjects of the offered mail, without marking the mail."""
    return [one["subject"] for one in (await surface.call(mail.INBOX, by=by, peek=True, **fields))["messages"]]


async def family(surface: Surface) -> None:
    await surface.join("boss", mode="coordinate")
    for name in ("w", "x"):
        await surface.join(name, parent="boss")


async def test_a_message_is_sent_read_and_acknowledged(surface: Surface) -> None:
    await family(surface)
    sent = await send(surface, "w", by="boss", subject="Rebase", message="a\n\nb", priority="high")
    assert (sent["subject"], sent["thread_id"]) == ("Rebase", sent["id"])
    assert [(one["name"], one["status"]) for one in sent["deliveries"]] == [("w", "sent")]
    shown = await surface.come_out(mail.INBOX, by="w")
    (message,) = shown["messages"]
    assert (message["body"], message["priority"], message["type"]) == ("a\n\nb", "high", "directive")
    assert (message["sender"]["name"], message["sender"]["kind"]) == ("boss", "session")
    assert shown["coordinator"]["name"] == "boss" and shown["coordinator"]["fresh"]
    assert await states(surface, sent, by="boss") == {"w": "read"}
    assert (await surface.call(mail.INBOX, by="w"))["messages"] == []
    await surface.call(mail.ACK, by="w", ids=[sent["id"]])
    found = await surface.call(mail.STATUS, by="boss", id=sent["id"])
    (one,) = found["deliveries"]
    assert (one["status"], one["via"]) == ("acknowledged", "ack")
    assert one["delivered_at"] <= one["read_at"] <= one["acknowledged_at"]


async def test_shown_mail_has_the_status_of_the_surface_until_it_is_confirmed(surface: Surface) -> None:
    await surface.join("w")
    sent = await send(surface, "w")
    shown = await surface.call(mail.INBOX, by="w")
    async with asyncio.timeout(20):  # over HTTP the server records the status after it has sent the answer
        while await states(surface, sent) != {"w": surface.way.shows_as}:
            pass
    assert len((await surface.call(mail.INBOX, by="w"))["messages"]) == surface.way.offers_again
    await surface.call(mail.INBOX, by="w", cursor=shown["receipt"])
    assert await states(surface, sent) == {"w": "read"}


@pytest.mark.parametrize("operation", [mail.SHOW, mail.THREAD])
async def test_showing_a_message_or_its_thread_marks_the_message_as_read(surface: Surface, operation: Any) -> None:
    await surface.join("w")
    sent = await send(surface, "w")
    await surface.come_out(operation, by="w", id=sent["id"])
    assert await states(surface, sent) == {"w": "read"}
    again = await send(surface, "w")
    await surface.call(operation, id=again["id"])  # the person reads the mail of w
    assert await states(surface, again) == {"w": "sent"}


async def test_a_long_message_stays_delivered_until_the_complete_body_is_shown(surface: Surface) -> None:
    await surface.join("w")
    long = "x" * (limits.inbox_body_chars_max + 1)
    sent = await send(surface, "w", message=long)
    (message,) = (await surface.come_out(mail.INBOX, by="w"))["messages"]
    assert message["truncated"] and await states(surface, sent) == {"w": "delivered"}
    assert (await surface.come_out(mail.SHOW, by="w", id=sent["id"]))["body"] == long
    assert await states(surface, sent) == {"w": "read"}


async def test_a_reply_belongs_to_the_thread_and_acknowledges_the_message(surface: Surface) -> None:
    await family(surface)
    asked = await send(surface, by="w", to_coordinator=True, type="query", subject="Port?")
    answer = await surface.call(mail.REPLY, by="boss", id=asked["id"], message="8081")
    assert answer["thread_id"] == asked["id"] and answer["subject"] == "Re: Port?"
    assert await states(surface, asked, by="w") == {"boss": "acknowledged"}
    thread = await surface.call(mail.THREAD, by="x", id=answer["id"])
    assert [one["body"] for one in thread["messages"]] == ["World", "8081"] and thread["subject"] == "Port?"
    grouped = await surface.call(mail.INBOX, by="w", thread=True, peek=True)
    assert grouped["grouped"] and [one["parent_id"] for one in grouped["messages"]] == [asked["id"]]


async def test_only_the_first_session_can_claim_a_thread_of_the_project(surface: Surface) -> None:
    await surface.join("w")
    await surface.join("x")
    sent = await send(surface, f"project:{surface.project}", subject="Crash")
    assert (await surface.call(mail.CLAIM, by="w", id=sent["id"]))["thread_id"] == sent["id"]
    with pytest.raises(errors.Conflict):
        await surface.call(mail.CLAIM, by="x", id=sent["id"])
    assert await subjects(surface, "x") == [] and await subjects(surface, "w") == ["Crash"]
    assert (await surface.call(mail.PROJECT_INBOX, by="x"))["messages"] == []
    (listed,) = (await surface.call(mail.PROJECT_INBOX, by="x", all=True))["messages"]
    assert listed["subject"] == "Crash" and listed["claimed_by"].startswith("ses_")
    with pytest.raises(errors.Conflict):
        await surface.call(mail.RELEASE, by="x", id=sent["id"])
    assert (await surface.call(mail.RELEASE, by="w", id=sent["id"]))["claimed_by"] is None
    assert await subjects(surface, "x") == ["Crash"]


async def test_an_address_of_each_kind_reaches_its_recipient(surface: Surface) -> None:
    await family(surface)
    await surface.call(members.CREATE, name="ada", role="x")
    await surface.call(tasks.CREATE, title="t")
    await surface.call(tasks.START, by="x", id="#1")
    for to, name in (
        ("x", "x"),
        ("session:x", "x"),
        ("@ada", "@ada"),
        ("member:ada", "@ada"),
        (f"{surface.project}#1", "x"),
        ("coordinator", "boss"),
        ("human", "human"),
        (surface.project, surface.project),
    ):
        sent = await send(surface, to, by="w")
        assert [one["name"] for one in sent["deliveries"]] == [name], to
    both = await send(surface, by="w", to_member=["ada"], to_coordinator=True)
    assert {one["name"] for one in both["deliveries"]} == {"@ada", "boss"}


async def test_an_ambiguous_or_unknown_address_is_refused(surface: Surface) -> None:
    await surface.join("w")
    await surface.join(surface.project)
    with pytest.raises(errors.Ambiguous) as refused:
        await send(surface, surface.project, by="w")
    assert set(refused.value.data["candidates"]) == {f"session:{surface.project}", f"project:{surface.project}"}
    for to, error in (("nobody", errors.NotFound), ("a b", errors.Invalid), ("@nobody", errors.NotFound)):
        with pytest.raises(error):
            await send(surface, to, by="w")
    with pytest.raises(errors.NotFound):
        await surface.call(mail.SHOW, by="w", id="msg_none")


async def test_mail_for_an_ended_session_goes_to_its_coordinator(surface: Surface) -> None:
    await family(surface)
    left = await send(surface, "w", subject="left")
    await surface.call(sessions.END, by="w", status="failed")
    (one,) = (await send(surface, "w", subject="late"))["deliveries"]
    assert one["name"] == "boss" and one["reason"].startswith("w has ended (failed)")
    async with asyncio.timeout(20):
        while (await states(surface, left)) != {"w": "expired", "boss": "sent"}:
            await surface.call(mail.WAIT, by="boss", count=3, timeout=200, peek=True)
    assert {"left", "late", "w has failed"} <= set(await subjects(surface, "boss"))


async def test_a_broadcast_reaches_the_sessions_of_its_scope(surface: Surface) -> None:
    await family(surface)
    await surface.join("loner")
    for by, scope, names in (
        ("boss", "my-workers", {"w", "x"}),
        ("w", "siblings", {"x"}),
        ("boss", "all", {"w", "x", "loner"}),
        ("dana", "all", {"boss", "w", "x", "loner"}),
    ):
        sent = await surface.call(mail.BROADCAST, by=by, scope=scope, subject="s", message="b")
        assert {one["name"] for one in sent["deliveries"]} == names
    with pytest.raises(errors.NotPermitted):
        await surface.call(mail.BROADCAST, by="w", scope="all", subject="s", message="b")
    with pytest.raises(errors.Invalid):
        await surface.call(mail.BROADCAST, by="w", scope="team", subject="s", message="b")


async def test_a_session_waits_for_mail_and_a_wait_without_mail_times_out(surface: Surface) -> None:
    await surface.join("w")
    waits = asyncio.create_task(surface.come_out(mail.WAIT, by="w", timeout=30_000, debounce=10))
    sent = await send(surface, "w", subject="Now")
    assert [one["subject"] for one in (await waits)["messages"]] == ["Now"]
    assert await states(surface, sent) == {"w": "read"}
    await send(surface, "w", subject="There already")
    found = await surface.call(mail.WAIT, by="w", timeout=30_000)
    assert [one["subject"] for one in found["messages"]] == ["There already"]
    await surface.join("x")
    with pytest.raises(errors.TimedOut):
        await surface.call(mail.WAIT, by="x", timeout=50)


async def test_a_sender_waits_for_a_receipt_and_an_unconfirmed_message_is_still_stored(surface: Surface) -> None:
    await surface.join("w")
    sending = asyncio.create_task(send(surface, "w", wait_for="read", timeout=30_000))
    await surface.come_out(mail.WAIT, by="w", timeout=30_000, debounce=0)
    assert [one["status"] for one in (await sending)["deliveries"]] == ["read"]
    with pytest.raises(errors.NotConfirmed) as refused:
        await send(surface, "w", wait_for="acknowledged", timeout=50)
    assert refused.value.data["id"].startswith("msg_")
    assert len(await subjects(surface, "w")) == 1  # the message that was not confirmed is stored


@pytest.mark.not_over("mcp", why="left to the command: keys are the relay's own")
async def test_a_repeated_send_with_the_same_key_sends_one_message(surface: Surface) -> None:
    await surface.join("w")
    key = f"{surface.project}-once"
    first = await send(surface, "w", key=key)
    assert (await send(surface, "w", key=key))["id"] == first["id"]
    assert len(await subjects(surface, "w")) == 1
    with pytest.raises(errors.KeyReused):
        await send(surface, "w", key=key, message="Something else")


async def test_attachments_are_listed_and_downloaded_unchanged(surface: Surface) -> None:
    await surface.join("w")
    files = [{"file_name": "a.bin", "content": b"\x00\xff"}, {"file_name": "b.log", "content": b"x" * 40_000}]
    await send(surface, "w", attach=files)
    (message,) = (await surface.come_out(mail.INBOX, by="w"))["messages"]
    assert [(one["file_name"], one["bytes"]) for one in message["attachments"]] == [("a.bin", 2), ("b.log", 40_000)]
    for attached, file in zip(message["attachments"], files, strict=True):
        found = await surface.call(mail.ATTACHMENT, by="w", id=attached["id"])
        assert base64.b64decode(found["content"]) == file["content"]


async def test_mail_of_a_task_sent_mail_and_searched_mail_are_listed(surface: Surface) -> None:
    await surface.join("w")
    await surface.call(tasks.CREATE, title="t")
    await send(surface, "human", by="w", task="#1", subject="About it", message="the deadlock of the pool")
    await send(surface, "human", by="w", subject="Aside")
    of_task = await surface.call(mail.OF_TASK, by="w", id="#1")
    assert [one["subject"] for one in of_task["messages"]] == ["About it"]
    sent = await surface.call(mail.SENT, by="w", limit=1)
    assert [one["subject"] for one in sent["messages"]] == ["Aside"] and sent["cursor"]
    found = await surface.call(mail.SEARCH, by="w", query='"deadlock of" poo*')
    assert [one["subject"] for one in found["messages"]] == ["About it"]
    assert (await surface.call(mail.SEARCH, by="w", query="nothing"))["messages"] == []


async def test_coordinator_and_person_read_the_inbox_of_a_session_without_marking(surface: Surface) -> None:
    await family(surface)
    sent = await send(surface, "w")
    for by in ("boss", "dana"):
        found = await surface.call(mail.INBOX, by=by, of="w")
        assert [one["subject"] for one in found["messages"]] == ["Hello"] and found["receipt"] == ""
    with pytest.raises(errors.NotPermitted):
        await surface.call(mail.INBOX, by="x", of="w")
    assert await states(surface, sent) == {"w": "sent"}


async def test_two_sessions_that_answer_each_other_without_end_are_stopped(surface: Surface) -> None:
    await surface.join("w")
    await surface.join("x")
    last = await send(surface, "x", by="w", subject="Thanks")
    with pytest.raises(errors.Looping):
        for number in range(limits.mail_hops_max + 1):
            last = await surface.call(mail.REPLY, by="wx"[1 - number % 2], id=last["id"], message="Thank you!")
    found: list[Any] = []
    async with asyncio.timeout(20):
        while not found:
            found = (await surface.call(mail.SEARCH, query='"answer each other without end"'))["messages"]
    assert [(one["sender"]["kind"], one["to"]) for one in found] == [("maestro", ["human"])]


@pytest.mark.not_over("command", "mcp-stdio", why="they write `mail send PROJECT`, and confirm by themselves")
async def test_a_program_posts_to_a_project_and_confirms_mail_with_a_receipt(surface: Surface) -> None:
    await surface.join("w")
    sent = await surface.call(mail.POST_TO_PROJECT, subject="Crash", message="b", priority="critical")
    assert [one["name"] for one in sent["deliveries"]] == [surface.project]
    shown = await surface.call(mail.INBOX, by="w")
    assert (await surface.call(mail.CONFIRM, by="w", receipt=shown["receipt"], via="hook"))["count"] == 1
    (one,) = (await surface.call(mail.STATUS, id=sent["id"]))["deliveries"]
    assert (one["status"], one["via"]) == ("read", "hook") and one["by"].startswith("ses_")
    for forged in ("r1:x", "nonsense"):
        with pytest.raises(errors.Invalid):
            await surface.call(mail.CONFIRM, by="w", receipt=forged)
