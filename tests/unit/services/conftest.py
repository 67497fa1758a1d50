"""Provide a store with two projects, and a `World` that calls services on the store without a server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from maestro.domain.callers import Caller, Role, person_caller
from maestro.domain.events import Event
from maestro.domain.members import Member
from maestro.domain.messages import ReceivedMessage
from maestro.domain.projects import Project, Workspace
from maestro.domain.sessions import Session
from maestro.events.hub import Hub
from maestro.operations import mail_shapes
from maestro.operations import sessions as session_ops
from maestro.operations.members import CreateMember
from maestro.operations.task_shapes import CreateTask, StartTask
from maestro.services.mail.rate_limit import MailLimiter
from maestro.services.mail.reading import MailReading
from maestro.services.mail.waits import MailWaits
from maestro.services.members import registry as members
from maestro.services.presence.tracker import PresenceTracker
from maestro.services.quotas.families import Families
from maestro.services.sending.sending import MailSending
from maestro.services.sessions import lifecycle as sessions
from maestro.services.sessions import registration
from maestro.services.tasks import editing as tasks
from maestro.services.tasks import moves
from maestro.store.base import Tx
from maestro.store.blobs import Blobs
from maestro.store.sqlite import SqliteStore
from maestro.testing.clock import FakeClock

AT = FakeClock().now()
VC = Project("prj_00000000000000000000000000", "example.org/vc", "vc", ["plan"], AT)
OTHER = Project("prj_00000000000000000000000001", "example.org/other", "other", ["plan"], AT)
DAVE = Workspace("wsp_00000000000000000000000000", VC.id, "dave", "dave/vc", "/src/dave/vc", AT)


class World:
    """The store and the services of a test, with helpers that call the services as a chosen caller."""

    def __init__(self, store: SqliteStore, clock: FakeClock, blobs: Path) -> None:
        self.store = store
        self.clock = clock
        self.dana = person_caller("dana")
        self.coordinator = Caller(Role.COORDINATOR, "ses_c", session_id="ses_c", project_id=VC.id, human="dana")
        self.tokens: dict[str, str] = {}  # by session id
        self.hub = Hub()
        store.on_commit(self.hub.publish)
        self.blobs = Blobs(blobs)
        self.presence = PresenceTracker(clock)
        self.families = Families()
        self.guard = MailLimiter(self.families, per_minute=20)
        self.sending = MailSending(self.guard)
        self.reading = MailReading(store, self.blobs)
        self.waits = MailWaits(store, self.hub, self.presence)

    async def do(self, service: Callable[..., Any], request: Any, *, by: Caller | None = None) -> Any:
        """Run `service` in a new transaction, as the person or as the caller `by`, and return its result."""
        return await self.store.write(lambda tx: service(tx, by or self.dana, request))

    async def log(self) -> list[Event]:
        return await self.store.read(lambda tx: tx.events.list_after(0, limit=1000))

    # Sessions, members and tasks

    async def join(
        self, name: str, *, under: Caller | None = None, by: Caller | None = None, **fields: Any
    ) -> Caller:
        """Register a session with the coordinator `under`, as the person or as `by`, and return its caller."""
        self.clock.advance(0.01)  # a later time gives a later id, so ids sort in the order of creation
        request = session_ops.RegisterSession(
            name=name, project=fields.pop("project", VC.id), parent=under.name if under else None, **fields
        )
        made = await self.do(_register, request, by=by)
        self.tokens[made.id] = made.token
        return await self.caller(made.id)

    async def boss(self, name: str, *, under: Caller | None = None, **fields: Any) -> Caller:
        return await self.join(name, under=under, mode=session_ops.SessionMode.COORDINATE, **fields)

    async def caller(self, session_id: str) -> Caller:
        """Return the present caller of a live session."""
        found = await self.store.read(lambda tx: tx.sessions.live_caller(session_id))
        assert found is not None
        return found

    async def session(self, caller: Caller) -> Session:
        found = await self.store.read(lambda tx: tx.sessions.get(caller.name))
        assert found is not None
        return found

    async def end(self, caller: Caller, status: str = "stopped") -> None:
        await self.do(
            sessions.end_session, session_ops.EndSession(id=caller.name, status=session_ops.SessionStatus(status))
        )

    async def member(self, name: str, **fields: Any) -> Member:
        made: Member = await self.do(
            members.create_member, CreateMember(project=VC.id, name=name, role="x", **fields)
        )
        return made

    async def task(self, *, held_by: Caller | None = None, by: Caller | None = None, **fields: Any) -> Any:
        made = await self.do(tasks.create_task, CreateTask(project=VC.id, title="t", **fields), by=by)
        if held_by is not None:
            await self.do(moves.start_task, StartTask(id=made.id), by=held_by)
        return made

    # Mail

    async def send(self, by: Caller | None, *to: str, **fields: Any) -> mail_shapes.SentMail:
        values: dict[str, Any] = {"subject": "s", "message": "b"} | fields
        if by is None or not by.is_session:
            values.setdefault("project", VC.id)
        request = mail_shapes.SendMail(to=list(to), **values)
        enclosed = (
            self.sending.store_contents(request, self.blobs.store_content)
            if self.sending.needs_files(request)
            else None
        )
        sent: mail_shapes.SentMail = await self.store.write(
            lambda tx: self.sending.send_mail(tx, by or self.dana, request, enclosed)
        )
        return sent

    async def reply(self, by: Caller | None, message: Any, text: str = "answer", **fields: Any) -> Any:
        request = mail_shapes.ReplyMail(id=getattr(message, "id", message), message=text, **fields)
        return await self.do(self.sending.send_reply, request, by=by)

    async def unread(self, caller: Caller | None = None, **fields: Any) -> list[ReceivedMessage]:
        """Return the unread messages of an inbox without marking a delivery as read."""
        request = mail_shapes.ReadInbox(peek=True, **fields)
        return (await self.reading.read_inbox(caller or self.dana, request)).messages

    async def subjects(self, caller: Caller | None = None, **fields: Any) -> list[str]:
        return [message.subject for message in await self.unread(caller, **fields)]

    async def read(self, caller: Caller | None = None, **fields: Any) -> list[ReceivedMessage]:
        """Return the unread messages of an inbox and confirm that the caller received all of them."""
        by = caller or self.dana
        inbox = await self.reading.read_inbox(by, mail_shapes.ReadInbox(**fields))
        if inbox.receipt:
            await self.reading.read_inbox(by, mail_shapes.ReadInbox(cursor=inbox.receipt))
        return inbox.messages

    async def states(self, message: Any) -> dict[str, str]:
        """Return the delivery status of a message for each mailbox."""
        found = await self.store.read(lambda tx: tx.mail.get(getattr(message, "id", message)))
        assert found is not None
        deliveries = await self.store.read(lambda tx: tx.deliveries.of_message(found.seq))
        return {delivery.mailbox: delivery.status.value for delivery in deliveries}


def _register(tx: Tx, caller: Caller, request: session_ops.RegisterSession) -> session_ops.RegisteredSession:
    return registration.register_session(tx, caller, request, lambda session_id: f"token of {session_id}")


@pytest.fixture
async def world(tmp_path: Path, clock: FakeClock) -> AsyncIterator[World]:
    store = SqliteStore(tmp_path / "maestro.db", clock=clock)
    await store.write(lambda tx: [tx.projects.insert(project) for project in (VC, OTHER)])
    await store.write(lambda tx: tx.projects.insert_workspace(DAVE))
    yield World(store, clock, tmp_path / "blobs")
    await store.close()
