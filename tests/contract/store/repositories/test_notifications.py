"""The repository of notifications: due notifications, their attempts, and the notification that announced an ask."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any

from maestro.core import ids
from maestro.domain.asks import AskKind
from maestro.domain.notifications import Notification, NotificationKind
from maestro.domain.sessions import Session
from maestro.store.base import Store
from maestro.testing.clock import FakeClock
from maestro.testing.factories import make_ask

Enter = Callable[..., Awaitable[Session]]


async def put(store: Store, clock: FakeClock, session: Session, *, due_in: float = 0, **fields: Any) -> str:
    clock.advance(0.01)
    notification_id = ids.new_id("ntf", clock.now())
    values = {"project_id": session.project_id, "session_id": session.id, "ask_id": None, "content": "c ✓"} | fields
    kind = values.pop("kind", NotificationKind.SESSION_LOST)
    due_at = clock.now() + timedelta(seconds=due_in)
    await store.write(
        lambda tx: tx.notifications.insert(notification_id, kind, created_at=tx.at, due_at=due_at, **values)
    )
    return notification_id


async def due(store: Store, at: datetime, limit: int = 9) -> list[str]:
    return [found.id for found in await store.read(lambda tx: tx.notifications.list_due(at, limit=limit))]


async def test_notifications_are_due_at_their_time_in_order(store: Store, enter: Enter, clock: FakeClock) -> None:
    session = await enter("w")
    assert await store.read(lambda tx: tx.notifications.next_due()) is None
    later, sooner = await put(store, clock, session, due_in=9), await put(store, clock, session, due_in=5)
    at = clock.now()
    assert await store.read(lambda tx: tx.notifications.next_due()) == at + timedelta(seconds=5)
    assert await due(store, at) == []
    assert await due(store, at + timedelta(seconds=9)) == [sooner, later]
    assert await due(store, at + timedelta(seconds=9), limit=1) == [sooner]
    last = await store.read(lambda tx: tx.notifications.last_of_session(session.id))
    assert last == at - timedelta(milliseconds=10) + timedelta(seconds=9)


async def test_attempts_and_their_problem_are_kept_until_the_notification_is_sent(
    store: Store, enter: Enter, clock: FakeClock
) -> None:
    session = await enter("w")
    notification_id, start = await put(store, clock, session), clock.now()
    retry_at = start + timedelta(seconds=30)
    await store.write(
        lambda tx: tx.notifications.set_state(notification_id, due_at=retry_at, attempts=1, problem="503")
    )
    (found,) = await store.read(lambda tx: tx.notifications.list_newest(limit=9))
    assert found == Notification(
        id=notification_id,
        kind=NotificationKind.SESSION_LOST,
        project="vc",
        session="w",
        session_id=session.id,
        content="c ✓",
        created_at=start,
        due_at=retry_at,
        attempts=1,
        problem="503",
    )
    assert await store.read(lambda tx: tx.notifications.list_failed(since=start, limit=9)) == []
    before = start - timedelta(seconds=1)
    assert await store.read(lambda tx: tx.notifications.list_failed(since=before, limit=9)) == [found]
    await store.write(lambda tx: tx.notifications.set_state(notification_id, due_at=None, attempts=2, problem=""))
    assert await store.read(lambda tx: tx.notifications.list_failed(since=before, limit=9)) == []
    assert await due(store, retry_at) == []


async def test_the_announcement_of_an_ask_is_found_and_stays_while_the_ask_is_open(
    store: Store, enter: Enter, clock: FakeClock
) -> None:
    session = await enter("w")
    ask = make_ask(asked_by="w", session_id=session.id, created_at=clock.now())
    await store.write(lambda tx: tx.asks.insert(ask))
    kind = NotificationKind.ASK_OPENED
    announced = await put(store, clock, session, kind=kind, ask_id=ask.id)
    other = await put(store, clock, session)
    found = await store.read(lambda tx: tx.notifications.of_ask(ask.id))
    assert found is not None and (found.id, found.ask_kind) == (announced, AskKind(ask.kind))
    for notification_id in (announced, other):
        await store.write(
            lambda tx, notification_id=notification_id: tx.notifications.set_state(
                notification_id, due_at=None, attempts=1, problem=""
            )
        )
    after = clock.now() + timedelta(seconds=1)
    await store.write(lambda tx: tx.notifications.delete_old(before=after))
    assert [one.id for one in await store.read(lambda tx: tx.notifications.list_newest(limit=9))] == [announced]
    await store.write(lambda tx: tx.notifications.delete(announced))
    assert await store.read(lambda tx: tx.notifications.of_ask(ask.id)) is None
