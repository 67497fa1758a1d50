"""Fixtures of store tests: every store with two projects, and functions that insert messages, sessions and spawns."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from maestro.core import ids
from maestro.domain.documents import StoredContent
from maestro.domain.members import Permission
from maestro.domain.messages import MessageType, Sender, SenderKind
from maestro.domain.priorities import Priority
from maestro.domain.projects import Project
from maestro.domain.sessions import Session
from maestro.domain.spawns import Spawn
from maestro.store.base import Store, Tx
from maestro.store.sqlite import SqliteStore
from maestro.testing.clock import FakeClock
from maestro.testing.factories import make_message, make_session

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
    """Return a function that inserts a message with deliveries and returns the message's sequence number."""

    async def put(
        *mailboxes: str,
        subject: str = "s",
        body: str = "b",
        sender: str = "ses_sender",
        sender_kind: SenderKind = SenderKind.SESSION,
        priority: Priority = Priority.NORMAL,
        type: MessageType = MessageType.DIRECTIVE,
        thread_id: str | None = None,
        task_id: str | None = None,
        project_id: str | None = PROJECTS[0].id,
    ) -> int:
        def work(tx: Tx) -> int:
            message_id = ids.new_id("msg", tx.at)
            message = make_message(
                id=message_id,
                seq=tx.mail.next_seq(),
                thread_id=thread_id or message_id,
                type=type,
                priority=priority,
                subject=subject,
                body=body,
                task_id=task_id,
                sender=Sender(sender_kind, sender, sender, None, "dana", "vc"),
                to=list(mailboxes),
                created_at=tx.at,
            )
            tx.mail.insert(message, StoredContent(body.encode(), None, len(body.encode()), ""), project_id=project_id)
            for mailbox in mailboxes:
                values = {"priority": priority, "type": type, "project_id": project_id, "reason": None}
                tx.deliveries.insert(mailbox, message.seq, **values)
            return int(message.seq)

        return await store.write(work)

    return put


@pytest.fixture
def enter(store: Store, clock: FakeClock) -> Callable[..., Awaitable[Session]]:
    """Return a function that inserts a session. Each session is created a moment after the session before."""

    async def put(name: str, *, member_id: str | None = None, **fields: Any) -> Session:
        clock.advance(0.01)
        now = clock.now()
        times = {"created_at": now, "updated_at": now, "seen_at": now, "status_at": now, "lease_until": now}
        session = make_session(**({"id": ids.new_id("ses", now), "name": name, **times} | fields))
        token = f"hash of {session.id}"
        await store.write(lambda tx: tx.sessions.insert(session, token_hash=token, member_id=member_id))
        return session

    return put


@pytest.fixture
def launch(store: Store, clock: FakeClock) -> Callable[..., Awaitable[Spawn]]:
    """Return a function that inserts the spawn of a session. Each spawn is created a moment after the one before."""

    async def put(session: Session, *, manifest: bytes = b"{}", **fields: Any) -> Spawn:
        clock.advance(0.01)
        values: dict[str, Any] = {
            "session_id": session.id,
            "tool": "claude",
            "arguments": ["--verbose", "a,b"],
            "model": "m-1",
            "permission": Permission.EDIT,
            "strategy": "simple",
            "template": "worker",
            "directory": "/src/vc",
            "run_id": None,
            "runner_pid": None,
            "runner_started": None,
            "exit_code": None,
            "exit_signal": None,
            "tail": None,
            "created_at": clock.now(),
            "ended_at": None,
        }
        spawn = Spawn(**(values | fields))
        await store.write(lambda tx: tx.spawns.insert(spawn, manifest=manifest))
        return spawn

    return put
