"""The last signal of each source determines the status of a session."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from maestro.core import limits
from maestro.domain.sessions import Session, SessionStatus, StatusSource
from maestro.services.sessions import status
from maestro.text import redaction

World = Any


async def send_signal(
    world: World, caller: Any, new_status: SessionStatus, source: StatusSource, **fields: Any
) -> Session:
    session = await world.session(caller)
    changed: Session = await world.store.write(
        lambda tx: status.apply_signal(tx, session, new_status, source=source, actor="test", **fields)
    )
    return changed


async def test_the_last_of_several_signals_at_the_same_time_sets_the_status(world: World) -> None:
    worker = await world.join("w")
    for new_status, source in (
        (SessionStatus.IDLE, StatusSource.HEARTBEAT),
        (SessionStatus.WORKING, StatusSource.REPORT),
        (SessionStatus.NEEDS_INPUT, StatusSource.HOOK),
        (SessionStatus.IDLE, StatusSource.HEARTBEAT),
    ):
        assert (await send_signal(world, worker, new_status, source)).status is new_status


@pytest.mark.parametrize(
    ("source", "new_status", "expires"),
    [
        (StatusSource.REPORT, SessionStatus.IDLE, False),
        (StatusSource.SERVER, SessionStatus.IDLE, False),
        (StatusSource.PROTOCOL, SessionStatus.WORKING, False),
        (StatusSource.HOOK, SessionStatus.IDLE, False),
        (StatusSource.HOOK, SessionStatus.WORKING, True),
        (StatusSource.HEARTBEAT, SessionStatus.IDLE, True),
    ],
)
async def test_a_status_expires_or_lasts_depending_on_its_source(
    world: World, source: StatusSource, new_status: SessionStatus, expires: bool
) -> None:
    worker = await world.join("w")
    world.clock.advance(1)
    session = await send_signal(world, worker, new_status, source)
    end = world.clock.now() + timedelta(seconds=limits.status_valid_seconds)
    assert session.status_until == (end if expires else None)


async def test_a_change_of_status_is_logged_and_notified_once(world: World) -> None:
    boss = await world.boss("boss")
    worker = await world.join("w", under=boss)
    for _ in range(2):
        await send_signal(world, worker, SessionStatus.NEEDS_INPUT, StatusSource.HOOK, detail="Which port?")
    (notice,) = await world.unread(boss)
    assert (notice.subject, notice.body) == ("w needs input", "Which port?")
    changes = [event for event in await world.log() if event.kind == "session.status_changed"]
    assert [event.data for event in changes] == [{"from": "working", "status": "needs_input", "source": "hook"}]


async def test_a_silent_change_of_status_is_logged_without_a_notice(world: World) -> None:
    boss = await world.boss("boss")
    worker = await world.join("w", under=boss)
    await send_signal(world, worker, SessionStatus.NEEDS_INPUT, StatusSource.HOOK, is_silent=True)
    assert await world.unread(boss) == []
    assert (await world.log())[-1].kind == "session.status_changed"


async def test_the_detail_of_a_signal_contains_neither_tokens_nor_nul_characters(world: World) -> None:
    worker = await world.join("w")
    token = redaction.TOKEN_PREFIX + "a" * 43
    await send_signal(world, worker, SessionStatus.IDLE, StatusSource.HOOK, detail=f"key\0 {token}")
    signals = await world.store.read(lambda tx: tx.sessions.signals_of(worker.name))
    (detail,) = [signal.detail for signal in signals if signal.source is StatusSource.HOOK]
    assert token not in detail and detail.startswith("key ")


async def test_an_expired_signal_gives_way_to_an_older_lasting_signal(world: World) -> None:
    worker = await world.join("w")
    await send_signal(world, worker, SessionStatus.IDLE, StatusSource.HEARTBEAT)
    world.clock.advance(limits.status_valid_seconds)
    session = await world.session(worker)
    await world.store.write(lambda tx: status.expire_status(tx, session))
    judged = await world.session(worker)
    assert (judged.status, judged.status_source, judged.status_until) == ("working", StatusSource.REPORT, None)
