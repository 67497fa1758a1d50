"""The repository of recoveries, and the effect of a planned resumption on routes and mail."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest

from maestro.domain.recovery import RecoveryStep, SessionRecovery
from maestro.domain.sessions import Session, SessionStatus, StatusSignal, StatusSource
from maestro.store.base import Store, Tx
from maestro.testing.clock import FakeClock

Enter = Callable[..., Awaitable[Session]]


async def end(store: Store, session: Session) -> None:
    def write(tx: Tx) -> None:
        tx.sessions.put_signal(
            session.id, StatusSignal(StatusSource.HEARTBEAT, SessionStatus.LOST, tx.at, None, "gone")
        )
        assert tx.sessions.mark_ended(session.id, status=SessionStatus.LOST, source=StatusSource.PROCESS, at=tx.at)

    await store.write(write)


async def test_a_recovery_keeps_every_field_and_becomes_due_at_the_planned_time(
    store: Store, enter: Enter, clock: FakeClock
) -> None:
    sooner, later, never = [await enter(name) for name in ("a", "b", "c")]
    now = clock.now()
    plans = [
        SessionRecovery(session_id=sooner.id, due_at=now + timedelta(seconds=1), attempts=2, resumed_at=now),
        SessionRecovery(
            session_id=later.id, step=RecoveryStep.ADOPT, due_at=now + timedelta(seconds=9), adopter_id=never.id
        ),
        SessionRecovery(session_id=never.id, step=RecoveryStep.HAND_OVER, ask_id="ask_1"),
    ]

    def write(tx: Tx) -> None:
        for plan in (*plans, *plans):  # the second put replaces the first
            tx.recoveries.put(plan)

    await store.write(write)
    for plan in plans:
        assert await store.read(lambda tx, plan=plan: tx.recoveries.get(plan.session_id)) == plan
    assert await store.read(lambda tx: tx.recoveries.of_ask("ask_1")) == plans[2]
    assert await store.read(lambda tx: tx.recoveries.list_due(tx.at, limit=9)) == []
    assert await store.read(lambda tx: tx.recoveries.next_due_at()) == plans[0].due_at
    clock.advance(5)
    assert await store.read(lambda tx: tx.recoveries.list_due(tx.at, limit=9)) == [plans[0]]
    await store.write(lambda tx: tx.recoveries.clear_next_step(sooner.id))
    assert await store.read(lambda tx: tx.recoveries.next_due_at()) == plans[1].due_at
    kept = await store.read(lambda tx: tx.recoveries.get(sooner.id))
    assert kept is not None and (kept.due_at, kept.attempts, kept.resumed_at) == (None, 2, now)


@pytest.mark.parametrize(("step", "waits"), [(RecoveryStep.RESUME, True), (RecoveryStep.HAND_OVER, False)])
async def test_mail_waits_for_a_session_whose_resumption_is_planned(
    store: Store, enter: Enter, clock: FakeClock, step: RecoveryStep, waits: bool
) -> None:
    session = await enter("w")
    await end(store, session)
    await store.write(lambda tx: tx.recoveries.put(SessionRecovery(session_id=session.id, step=step, due_at=tx.at)))
    route = await store.read(lambda tx: tx.sessions.mail_route(session.id))
    assert route is not None and (route.is_live, route.resumes, route.takes_mail) == (False, waits, waits)
    unsettled = await store.read(lambda tx: tx.sessions.list_with_unsettled_mail(limit=9))
    assert [one.id for one in unsettled] == ([] if waits else [session.id])
    anywhere = await store.read(lambda tx: tx.sessions.list_live_anywhere(limit=9))
    assert [one.id for one in anywhere] == ([session.id] if waits else [])


async def test_a_restarted_session_is_live_again_without_process_and_signals(
    store: Store, enter: Enter, clock: FakeClock
) -> None:
    session = await enter("w", pid=4711, pid_started="1")
    assert not await restart(store, session), "the session is live"
    await end(store, session)
    await store.write(lambda tx: tx.sessions.set_successor(session.id, successor_id=session.id))
    clock.advance(5)
    assert await restart(store, session)
    now = await store.read(lambda tx: tx.sessions.get(session.id))
    assert now is not None
    assert (now.status, now.ended_at, now.pid, now.pid_started) == (SessionStatus.SPAWNING, None, None, None)
    assert (now.name, now.successor_id, now.seen_at) == ("w-again", None, clock.now())
    assert await store.read(lambda tx: tx.sessions.signals_of(session.id)) == []
    assert await store.read(lambda tx: tx.sessions.is_live(session.id))
    assert await store.read(lambda tx: tx.sessions.count_live()) == 1


async def restart(store: Store, session: Session) -> bool:
    def write(tx: Tx) -> bool:
        done = tx.sessions.restart(session.id, name="w-again", lease_until=tx.at, at=tx.at)
        tx.sessions.clear_signals(session.id)
        return done

    return await store.write(write)
