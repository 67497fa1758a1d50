"""Every store there is, with two projects in it, and short ways to put mail and sessions there."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from maestro.core import ids
from maestro.domain.documents import StoredContent
from maestro.domain.messages import MessageType, Sender, SenderKind
from maestro.domain.projects import Project
from maestro.domain.sessions import Session
from maestro.domain.tasks import Priority
from maestro.store.base import Store, Tx
from maestro.store.repositories.mail import NewMessage
from maestro.store.sqlite import SqliteStore
from maestro.testing.clock import FakeClock
from maestro.testing.factories import make_session

AT = FakeClock().now()
PROJECTS = [
    Project("prj_00000000000000000000000000", "example.org/vc", "vc", ["plan"], AT),
    Project("prj_00000000000000000000000001", "example.org/other", "other", ["plan"], AT),
]


@pytest.fixture(params=["sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> AsyncIterator[Store]:
    opened: Store = {"sqlite": lambda: SqliteStore(tmp_path / "maestro.db", clock=clock)}[request.param]()
    await opened.write(lambda tx: [tx.projects.insert(project) for project in PROJECTS])
    yield opened
    await opened.close()


@pytest.fixture
def send(store: Store) -> Callable[..., Awaitable[int]]:
    """Puts a message into boxes, and gives its place."""

    async def put(
        *boxes: str,
        subject: str = "s",
        body: str = "b",
        sender: str = "ses_sender",
        priority: Priority = Priority.NORMAL,
        type: MessageType = MessageType.DIRECTIVE,
        thread_id: str | None = None,
        task_id: str | None = None,
        project_id: str | None = PROJECTS[0].id,
    ) -> int:
        def work(tx: Tx) -> int:
            message_id = ids.new_id("msg", tx.at)
            data = body.encode()
            seq = tx.mail.insert(
                NewMessage(
                    id=message_id,
                    thread_id=thread_id or message_id,
                    parent_id=None,
                    project_id=project_id,
                    type=type,
                    priority=priority,
                    subject=subject,
                    body=StoredContent(data, None, len(data), ""),
                    preview="",
                    task_id=task_id,
                    sender=Sender(SenderKind.SESSION, sender, sender, None, "dana", "vc"),
                    to=list(boxes),
                    scope=None,
                    hops=0,
                    attachments=0,
                    created_at=tx.at,
                )
            )
            for box in boxes:
                tx.deliveries.insert(box, seq, priority=priority, type=type, project_id=project_id, reason=None)
            return seq

        return await store.write(work)

    return put


@pytest.fixture
def enter(store: Store, clock: FakeClock) -> Callable[..., Awaitable[Session]]:
    """Puts a session there; each a moment after the one before."""

    async def put(name: str, *, member_id: str | None = None, **fields: Any) -> Session:
        clock.advance(0.01)
        now = clock.now()
        times = {"created_at": now, "updated_at": now, "seen_at": now, "status_at": now, "lease_until": now}
        session = make_session(**({"id": ids.new_id("ses", now), "name": name, **times} | fields))
        token = f"hash of {session.id}"
        await store.write(lambda tx: tx.sessions.insert(session, token_hash=token, member_id=member_id))
        return session

    return put
