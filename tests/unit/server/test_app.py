"""The server gives each caller its events and mailboxes, and closes its jobs and parts in order."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec

from maestro.domain.callers import Caller
from maestro.operations import mail, mail_shapes
from maestro.operations import tasks as task_ops
from maestro.server.app import Server
from maestro.testing.clock import FakeClock

Join = Callable[..., Awaitable[Caller]]


async def send_mail(server: Server, sender: Caller, recipient: Caller) -> None:
    request = mail_shapes.SendMail(to=[recipient.name], subject="s", message="b")
    await server.call(mail.SEND, request, caller=sender)


async def test_a_session_gets_the_events_of_its_own_mail(server: Server, join: Join, dana: Caller) -> None:
    ada, bob = await join("ada"), await join("bob")
    with server.subscribe_caller(ada) as events_of_ada, server.subscribe_caller(bob) as events_of_bob:
        await send_mail(server, dana, ada)
        assert "mail.sent" in [event.kind for event in events_of_ada.take_events()]
        assert "mail.sent" not in [event.kind for event in events_of_bob.take_events()]


async def test_a_session_gets_the_events_of_its_project(server: Server, join: Join, dana: Caller, vc: str) -> None:
    ada = await join("ada")
    with server.subscribe_caller(ada) as events:
        await server.call(task_ops.CREATE, task_ops.CreateTask(project=vc, title="t"), caller=dana)
        assert "task.created" in [event.kind for event in events.take_events()]


async def test_the_person_gets_all_events(server: Server, join: Join, dana: Caller) -> None:
    ada = await join("ada")
    with server.subscribe_caller(dana) as events:
        await send_mail(server, dana, ada)
        assert "mail.sent" in [event.kind for event in events.take_events()]


async def test_sessions_have_separate_mailboxes(server: Server, join: Join) -> None:
    ada, bob = await join("ada"), await join("bob")
    assert server.mailboxes_of(ada) - server.mailboxes_of(bob)


async def test_closing_the_server_stops_its_background_jobs(server: Server) -> None:
    await server.close()
    assert all(task.done() for task in server.background_jobs._tasks) and server.background_jobs._tasks


async def test_closing_the_server_closes_its_last_part_first(tmp_path: Path, clock: FakeClock) -> None:
    server, closed = Server(tmp_path, clock=clock), list[str]()

    async def close_trackers() -> None:
        closed.append("trackers")

    async def close_members() -> None:
        closed.append("members")

    parts = server.parts
    server.parts = msgspec.structs.replace(
        parts,
        members=msgspec.structs.replace(parts.members, close=(close_members,)),
        trackers=msgspec.structs.replace(parts.trackers, close=(close_trackers, *parts.trackers.close)),
    )
    await server.close()
    assert closed == ["trackers", "members"]
