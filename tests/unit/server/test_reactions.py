"""The running server does by itself what follows from what happened: nobody has to ask, and nothing waits for a round."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from maestro.core import errors, limits
from maestro.domain.callers import Caller
from maestro.events.hub import EVERYTHING
from maestro.operations import mail, mail_shapes, sessions
from maestro.operations import server as server_ops
from maestro.server.app import Server
from maestro.testing.clock import FakeClock

Join = Callable[..., Awaitable[Caller]]


async def until(server: Server, kind: str, happens: Awaitable[Any]) -> None:
    """Let something happen, and wait for what follows from it."""
    with server.hub.subscribe([EVERYTHING]) as heard:
        await happens
        async with asyncio.timeout(20):
            while kind not in [event.kind for event in heard.take_events()]:
                await heard.wait_for_event()


def letter(to: str, **fields: Any) -> mail_shapes.SendMail:
    return mail_shapes.SendMail(**({"to": [to], "subject": "s", "message": "b"} | fields))


async def test_what_an_ended_session_left_goes_on(server: Server, join: Join, dana: Caller) -> None:
    worker = await join("w")
    await server.call(mail.SEND, letter(worker.name), caller=dana)
    await until(server, "mail.rerouted", server.call(sessions.END, sessions.EndSession(), caller=worker))
    inbox = await server.call(mail.INBOX, mail_shapes.ReadInbox(), caller=dana)
    assert [message.reason for message in inbox.messages] == [
        "w has ended (stopped), and no session above it is active"
    ]


async def test_what_the_guard_stops_is_told(server: Server, join: Join, dana: Caller) -> None:
    worker, peer = await join("w"), await join("x")

    async def flood() -> None:
        with pytest.raises(errors.TooFast):
            for _ in range(limits.mail_per_minute_default + 1):
                await server.call(mail.SEND, letter(peer.name), caller=worker)

    await until(server, "mail.stopped", flood())
    inbox = await server.call(mail.INBOX, mail_shapes.ReadInbox(), caller=dana)
    assert [message.subject for message in inbox.messages] == ["w sends too much mail to x"]


async def test_any_call_is_a_sign_of_life(server: Server, join: Join, clock: FakeClock) -> None:
    worker = await join("w")
    clock.advance(limits.session_lease_without_process_seconds + 1)
    assert not server.presence.was_heard_within(worker.name)
    token = server.secrets.session_token(worker.name)
    await server.identify(token=token, peer=None)
    assert server.presence.was_heard_within(worker.name)


async def test_the_ended_are_forgotten(server: Server, join: Join) -> None:
    worker = await join("w")
    assert server.presence.was_heard_within(worker.name)
    await server.call(sessions.END, sessions.EndSession(), caller=worker)
    assert not server.presence.was_heard_within(worker.name)
    with pytest.raises(errors.NotAuthenticated):
        await server.identify(token=server.secrets.session_token(worker.name), peer=None)


async def test_adoption_changes_who_one_is_at_once(server: Server, join: Join, dana: Caller) -> None:
    worker, boss = await join("w"), await join("boss", mode="coordinate")
    request = sessions.AdoptSessions(ids=[worker.name], by=boss.name)
    await server.call(sessions.ADOPT, request, caller=dana)
    known = await server.identify(token=server.secrets.session_token(worker.name), peer=None)
    assert known.parent_id == boss.name


async def test_a_sender_can_follow_its_receipts_in_the_log(server: Server, join: Join, dana: Caller) -> None:
    sender, worker = await join("s"), await join("w")
    sent = await server.call(mail.SEND, letter(worker.name), caller=sender)
    follow = server_ops.ReadEvents(since=0, follow=True, kind=[server_ops.EventKind.MAIL_READ])
    stream = server.stream(server_ops.EVENTS, follow, caller=sender)
    following = asyncio.ensure_future(anext(stream))
    inbox = await server.call(mail.INBOX, mail_shapes.ReadInbox(), caller=worker)
    await server.call(mail.CONFIRM, mail_shapes.ConfirmReceipt(receipt=inbox.receipt), caller=worker)
    async with asyncio.timeout(20):
        event = await following
    assert (event.kind, event.subject, event.data["by"], event.data["from"]) == (
        "mail.read",
        sent.id,
        worker.name,
        sender.name,
    )


async def test_a_wait_that_was_begun_before_the_end_of_its_session_is_told_of_it(
    server: Server, join: Join, dana: Caller
) -> None:
    worker = await join("w")
    waits = asyncio.ensure_future(server.call(mail.WAIT, mail_shapes.WaitMail(timeout=20_000), caller=worker))
    async with asyncio.timeout(20):
        while worker.name not in server.presence.connected_sessions():
            await server.store.read(lambda tx: tx.at)
    await server.call(sessions.END, sessions.EndSession(id=worker.name), caller=dana)
    with pytest.raises(errors.NotAuthenticated):
        await waits
