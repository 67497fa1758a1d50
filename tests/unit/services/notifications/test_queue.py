"""A change queues its notification in its own transaction; a refused change queues none."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from maestro.core import errors, limits
from maestro.domain.notifications import NotificationKind
from maestro.operations import asks as ask_ops
from maestro.services.asks import asks
from maestro.services.notifications.queue import queue_session_notification

World = Any


async def queued(world: World) -> list[Any]:
    found: list[Any] = await world.store.read(lambda tx: tx.notifications.list_newest(limit=9))
    return found


async def test_a_new_ask_is_due_after_the_hold_with_its_title_as_content(world: World) -> None:
    worker = await world.join("w")
    made = await world.do(asks.create_ask, ask_ops.CreateAsk(title="Drop it?"), by=worker)
    (found,) = await queued(world)
    hold = timedelta(seconds=limits.notification_hold_seconds)
    assert (found.kind, found.ask_id, found.content) == (NotificationKind.ASK_OPENED, made.id, "Drop it?")
    assert found.due_at == made.created_at + hold


async def test_a_refused_answer_queues_nothing(world: World) -> None:
    worker = await world.join("w")
    made = await world.do(asks.create_ask, ask_ops.CreateAsk(title="Drop it?", choice=["yes", "no"]), by=worker)
    before = await queued(world)
    with pytest.raises(errors.Invalid):
        await world.do(asks.answer_ask, ask_ops.AnswerAsk(id=made.id, answer="7"))
    assert await queued(world) == before


async def test_the_notification_about_a_session_waits_for_the_distance_to_the_last_one(world: World) -> None:
    session = await world.session(await world.join("w"))
    for _ in range(2):
        await world.store.write(
            lambda tx: queue_session_notification(tx, session, NotificationKind.SESSION_BLOCKED, "is blocked")
        )
    first, second = sorted(await queued(world), key=lambda found: found.due_at)
    assert second.due_at - first.due_at == timedelta(seconds=limits.notification_gap_seconds)
