"""Events make the server run background jobs at once and forget cached values."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from maestro.core import errors, limits
from maestro.domain.callers import Caller
from maestro.domain.events import Event, EventKind
from maestro.events.hub import EVERYTHING, Hub
from maestro.operations import mail, mail_shapes, sessions
from maestro.operations import server as server_ops
from maestro.server.app import Server
from maestro.server.part import PartJob, Reaction
from maestro.server.reactions import Reactions
from maestro.services.jobs import BackgroundJobs
from maestro.testing.clock import FakeClock

Join = Callable[..., Awaitable[Caller]]


async def wait_for_event_of(server: Server, kind: str, cause: Awaitable[Any]) -> None:
    """Await the cause, then wait until an event of the kind is published."""
    with server.hub.subscribe([EVERYTHING]) as events:
        await cause
        async with asyncio.timeout(20):
            while kind not in [event.kind for event in events.take_events()]:
                await events.wait_for_event()


def new_message(to: str, **fields: Any) -> mail_shapes.SendMail:
    return mail_shapes.SendMail(**({"to": [to], "subject": "s", "message": "b"} | fields))


class CountedJob:
    """A background job that counts its rounds."""

    name = "counted"

    def __init__(self) -> None:
        self.rounds = 0
        self.has_run = asyncio.Event()

    async def run_once(self) -> None:
        self.rounds += 1
        self.has_run.set()


def new_event(kind: EventKind, subject: str) -> Event:
    return Event(
        seq=1, at=FakeClock().now(), kind=kind, version=1, subject=subject, project=None, actor="dana", data={}
    )


async def test_an_event_nudges_the_jobs_and_runs_the_reactions_for_its_kind_in_order(clock: FakeClock) -> None:
    job, calls = CountedJob(), list[tuple[str, str]]()
    background_jobs, hub = BackgroundJobs(clock=clock), Hub()
    background_jobs.start_jobs([job])
    await job.has_run.wait()
    reactions = Reactions(hub, background_jobs)
    reactions.add_jobs([PartJob(job, runs_after=(EventKind.TASK_READY,))])
    reactions.add_reactions([Reaction((EventKind.TASK_READY,), lambda subject: calls.append(("first", subject)))])
    reactions.add_reactions([Reaction((EventKind.TASK_READY,), lambda subject: calls.append(("second", subject)))])
    with hub.subscribe([EVERYTHING]) as events:
        reactions.react_to_events([new_event(EventKind.TASK_CREATED, "tsk_1")])
        assert calls == []
        job.has_run.clear()
        reactions.react_to_events([new_event(EventKind.TASK_READY, "tsk_2")])
        assert calls == [("first", "tsk_2"), ("second", "tsk_2")]
        assert [event.subject for event in events.take_events()] == ["tsk_1", "tsk_2"]
    async with asyncio.timeout(20):
        await job.has_run.wait()
    assert job.rounds == 2
    await background_jobs.close()


async def test_unread_mail_of_an_ended_session_is_rerouted(server: Server, join: Join, dana: Caller) -> None:
    worker = await join("w")
    await server.call(mail.SEND, new_message(worker.name), caller=dana)
    await wait_for_event_of(server, "mail.rerouted", server.call(sessions.END, sessions.EndSession(), caller=worker))
    inbox = await server.call(mail.INBOX, mail_shapes.ReadInbox(), caller=dana)
    assert [message.reason for message in inbox.messages] == [
        "w has ended (stopped), and no session above it is active"
    ]


async def test_the_person_gets_a_notice_about_stopped_mail(server: Server, join: Join, dana: Caller) -> None:
    worker, peer = await join("w"), await join("x")

    async def flood() -> None:
        with pytest.raises(errors.TooFast):
            for _ in range(limits.mail_per_minute_default + 1):
                await server.call(mail.SEND, new_message(peer.name), caller=worker)

    await wait_for_event_of(server, "mail.stopped", flood())
    inbox = await server.call(mail.INBOX, mail_shapes.ReadInbox(), caller=dana)
    assert [message.subject for message in inbox.messages] == ["w sends too much mail to x"]


async def test_a_call_with_the_token_of_a_session_is_a_sign_of_life(
    server: Server, join: Join, clock: FakeClock
) -> None:
    worker = await join("w")
    clock.advance(limits.session_lease_without_process_seconds + 1)
    assert not server.parts.identity.presence.was_heard_within(worker.name)
    token = server.secrets.session_token(worker.name)
    await server.identify(token=token, peer=None)
    assert server.parts.identity.presence.was_heard_within(worker.name)


async def test_the_server_forgets_the_presence_and_the_caller_of_an_ended_session(server: Server, join: Join) -> None:
    worker = await join("w")
    assert server.parts.identity.presence.was_heard_within(worker.name)
    await server.call(sessions.END, sessions.EndSession(), caller=worker)
    assert not server.parts.identity.presence.was_heard_within(worker.name)
    with pytest.raises(errors.NotAuthenticated):
        await server.identify(token=server.secrets.session_token(worker.name), peer=None)


async def test_an_adoption_changes_the_parent_of_the_caller_at_once(server: Server, join: Join, dana: Caller) -> None:
    worker, boss = await join("w"), await join("boss", mode="coordinate")
    request = sessions.AdoptSessions(ids=[worker.name], by=boss.name)
    await server.call(sessions.ADOPT, request, caller=dana)
    known = await server.identify(token=server.secrets.session_token(worker.name), peer=None)
    assert known.parent_id == boss.name


async def test_a_sender_can_follow_the_receipts_of_its_mail(server: Server, join: Join, dana: Caller) -> None:
    sender, worker = await join("s"), await join("w")
    sent = await server.call(mail.SEND, new_message(worker.name), caller=sender)
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


async def test_the_end_of_a_session_ends_its_wait_for_mail(server: Server, join: Join, dana: Caller) -> None:
    worker = await join("w")
    waits = asyncio.ensure_future(server.call(mail.WAIT, mail_shapes.WaitMail(timeout=20_000), caller=worker))
    async with asyncio.timeout(20):
        while worker.name not in server.parts.identity.presence.connected_sessions():
            await server.store.read(lambda tx: tx.at)
    await server.call(sessions.END, sessions.EndSession(id=worker.name), caller=dana)
    with pytest.raises(errors.NotAuthenticated):
        await waits
