"""The repository of conversations: their state, tool asks, pending pushes and usage."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from maestro.core.clock import UNIX_EPOCH
from maestro.domain.asks import AskStatus
from maestro.domain.conversations import (
    AskPolicy,
    DriverKind,
    PendingPush,
    ReminderState,
    SessionConversation,
    SessionUsage,
    StateReporter,
    ToolAsk,
    TurnState,
)
from maestro.domain.sessions import Session, SessionStatus, StatusSource
from maestro.domain.spawns import Spawn
from maestro.store.base import Store, Tx
from maestro.testing.clock import FakeClock
from maestro.testing.factories import make_ask

Enter = Callable[..., Awaitable[Session]]


@pytest.fixture
def converse(store: Store, enter: Enter, launch: Callable[..., Awaitable[Spawn]]) -> Enter:
    """Return a function that inserts a spawned session with a conversation."""

    async def put(name: str) -> Session:
        session = await enter(name)
        await launch(session)
        values: dict[str, Any] = {
            "driver": DriverKind.TERMINAL,
            "state_reporter": StateReporter.HOOKS,
            "ask_policy": AskPolicy.DENY,
        }
        await store.write(lambda tx: tx.conversations.insert(session.id, allow=["Read(*)", "a,b"], **values))
        return session

    return put


async def test_a_conversation_keeps_every_field(store: Store, converse: Enter, clock: FakeClock) -> None:
    session = await converse("w")
    new = SessionConversation(
        session_id=session.id,
        driver=DriverKind.TERMINAL,
        state_reporter=StateReporter.HOOKS,
        allow=["Read(*)", "a,b"],
        ask_policy=AskPolicy.DENY,
        tool_conversation_id=None,
        turn=TurnState.NONE,
        turn_at=UNIX_EPOCH,
        epoch=1,
        last_event_number=0,
        parked_until=None,
        reminded=ReminderState.NOT_REMINDED,
        record_file=None,
    )
    assert await store.read(lambda tx: tx.conversations.get(session.id)) == new
    later = clock.now() + timedelta(seconds=5)

    def change(tx: Tx) -> None:
        tx.conversations.set_turn(session.id, TurnState.IDLE, at=clock.now())
        tx.conversations.set_turn_at(session.id, later)
        tx.conversations.set_conversation(session.id, "c-1")
        tx.conversations.park_until(session.id, later)
        tx.conversations.set_reminded(session.id, ReminderState.IGNORED)
        tx.conversations.set_read_position(session.id, 77, record_file="/transcript")

    await store.write(change)
    changed = await store.read(lambda tx: tx.conversations.get(session.id))
    assert changed is not None
    assert (changed.turn, changed.turn_at, changed.tool_conversation_id) == (TurnState.IDLE, later, "c-1")
    assert (changed.parked_until, changed.reminded) == (later, ReminderState.IGNORED)
    assert (changed.last_event_number, changed.record_file) == (77, "/transcript")
    assert await store.read(lambda tx: tx.conversations.get("ses_unknown")) is None


async def test_an_event_of_a_runner_is_recorded_once(store: Store, converse: Enter) -> None:
    session = await converse("w")

    async def record(epoch: int, number: int) -> bool:
        return await store.write(lambda tx: tx.conversations.record_event(session.id, epoch=epoch, number=number))

    assert [await record(1, 1), await record(1, 1), await record(1, 3), await record(1, 2)] == [
        True,
        False,
        True,
        False,
    ]
    assert await record(2, 1), "each start numbers its events from 1"
    assert not await record(1, 9), "an event of an earlier start is ignored"


async def test_idle_conversations_of_live_sessions_are_listed_in_pages(store: Store, converse: Enter) -> None:
    sessions = [await converse(name) for name in "abcd"]

    def change(tx: Tx) -> None:
        for session in sessions[:3]:
            tx.conversations.set_turn(session.id, TurnState.IDLE, at=tx.at)
        ended = sessions[1].id
        tx.sessions.mark_ended(ended, status=SessionStatus.STOPPED, source=StatusSource.PROCESS, at=tx.at)

    await store.write(change)

    async def idle(after: str = "", limit: int = 9) -> list[str]:
        found = await store.read(lambda tx: tx.conversations.list_idle(after=after, limit=limit))
        return [conversation.session_id for conversation in found]

    assert await idle() == [sessions[0].id, sessions[2].id]
    assert await idle(limit=1) == [sessions[0].id] and await idle(after=sessions[0].id) == [sessions[2].id]


async def test_a_tool_ask_is_decided_when_the_person_answers_the_ask(store: Store, enter: Enter) -> None:
    session = await enter("w")
    ask = make_ask(session_id=session.id)
    tool_ask = ToolAsk(ask.id, session.id, 2, "call-1")

    def insert(tx: Tx) -> None:
        tx.asks.insert(ask)
        tx.conversations.insert_ask(tool_ask)

    await store.write(insert)
    assert await store.read(lambda tx: tx.conversations.get_ask(ask.id)) == tool_ask
    assert await store.read(lambda tx: tx.conversations.find_ask(session.id, epoch=2, asked_as="call-1")) == tool_ask
    assert await store.read(lambda tx: tx.conversations.find_ask(session.id, epoch=1, asked_as="call-1")) is None
    assert await store.read(lambda tx: tx.conversations.decided_asks(limit=9)) == []
    await store.write(lambda tx: tx.asks.close(ask.id, status=AskStatus.ANSWERED, answer="y", by="dana", at=tx.at))
    assert await store.read(lambda tx: tx.conversations.decided_asks(limit=9)) == [tool_ask]
    assert await store.read(lambda tx: tx.conversations.decided_asks(limit=0)) == []
    await store.write(lambda tx: tx.conversations.delete_ask(ask.id))
    assert await store.read(lambda tx: tx.conversations.get_ask(ask.id)) is None


async def test_a_session_has_at_most_one_pending_push(store: Store, enter: Enter, clock: FakeClock) -> None:
    session = await enter("w")
    first = PendingPush(session_id=session.id, id="psh_1", receipt="r", attempts=1, pushed_at=clock.now())
    second = PendingPush(
        session_id=session.id, id="psh_2", receipt="s", attempts=3, pushed_at=clock.now(), given_up=True
    )
    for push in (first, second):
        await store.write(lambda tx, push=push: tx.conversations.put_push(push))
        assert await store.read(lambda tx: tx.conversations.get_push(session.id)) == push
    await store.write(lambda tx: tx.conversations.delete_push(session.id))
    assert await store.read(lambda tx: tx.conversations.get_push(session.id)) is None


async def test_usage_is_summed_by_session_and_task(store: Store, enter: Enter) -> None:
    session, other = await enter("w"), await enter("v")

    def usage(session_id: str, task_id: str | None, cost: float | None) -> SessionUsage:
        return SessionUsage(
            session_id=session_id,
            task_id=task_id,
            turns=1,
            input_tokens=10,
            output_tokens=2,
            cached_tokens=5,
            cost_usd=cost,
        )

    added = [
        (session.id, None, None),
        (session.id, "tsk_1", 0.25),
        (session.id, "tsk_1", None),
        (other.id, "tsk_1", 0.5),
    ]
    await store.write(lambda tx: [tx.conversations.add_usage(usage(*values)) for values in added])
    own = await store.read(lambda tx: tx.conversations.usage_of_session(session.id, limit=9))
    assert own[0] == usage(session.id, None, None)
    assert (own[1].task_id, own[1].turns, own[1].input_tokens) == ("tsk_1", 2, 20)
    assert (own[1].output_tokens, own[1].cached_tokens, own[1].cost_usd) == (4, 10, 0.25)
    assert await store.read(lambda tx: tx.conversations.usage_of_session(session.id, limit=1)) == own[:1]
    of_task = await store.read(lambda tx: tx.conversations.usage_of_task("tsk_1", limit=9))
    assert of_task == [own[1], usage(other.id, "tsk_1", 0.5)]
