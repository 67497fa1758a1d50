"""The repository of asks: an ask closes once, and an ask in a window names the window."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

from maestro.core import ids
from maestro.domain.asks import Ask, AskStatus
from maestro.domain.callers import SERVER_NAME
from maestro.domain.sessions import Session
from maestro.store.base import Store
from maestro.testing.clock import FakeClock
from maestro.testing.factories import make_ask

Enter = Callable[..., Awaitable[Session]]
OTHER = "prj_00000000000000000000000001"


async def put(store: Store, clock: FakeClock, session: Session, **fields: Any) -> Ask:
    clock.advance(0.01)
    values = {"id": ids.new_id("req", clock.now()), "session_id": session.id, "created_at": clock.now()}
    ask = make_ask(asked_by=session.name, **(values | fields))
    await store.write(lambda tx: tx.asks.insert(ask))
    return ask


async def close(store: Store, ask: Ask, status: AskStatus = AskStatus.ANSWERED, answer: str | None = "yes") -> bool:
    return await store.write(lambda tx: tx.asks.close(ask.id, status=status, answer=answer, by="dana", at=tx.at))


async def test_a_stored_ask_keeps_every_field_and_closes_once(store: Store, enter: Enter, clock: FakeClock) -> None:
    session = await enter("w")
    ask = await put(store, clock, session, choices=["yes", "no, never"], text="a\nb", message_id="msg_1")
    assert await store.read(lambda tx: tx.asks.get(ask.id)) == ask
    assert await store.read(lambda tx: tx.asks.of_message("msg_1")) == ask
    assert await close(store, ask) and not await close(store, ask, AskStatus.WITHDRAWN, None)
    closed = await store.read(lambda tx: tx.asks.get(ask.id))
    assert closed is not None
    assert (closed.status, closed.answer, closed.answered_by) == (AskStatus.ANSWERED, "yes", "dana")
    assert closed.answered_at == clock.now()
    assert await store.read(lambda tx: tx.asks.of_message("msg_1")) is None  # of_message returns only an open ask


async def test_open_asks_of_all_projects_and_all_asks_of_a_project_are_listed(
    store: Store, enter: Enter, clock: FakeClock
) -> None:
    here, there = await enter("w"), await enter("x", project_id=OTHER)
    one = await put(store, clock, here)
    two = await put(store, clock, there, project_id=OTHER)
    three = await put(store, clock, here)
    await close(store, one)

    async def opened(after: str = "", limit: int = 9) -> list[str]:
        return [ask.id for ask in await store.read(lambda tx: tx.asks.list_open(after=after, limit=limit))]

    assert await opened() == [two.id, three.id]
    assert await opened(limit=1) == [two.id] and await opened(after=two.id) == [three.id]
    page = await store.read(lambda tx: tx.asks.list_page(here.project_id, after="", limit=9))
    assert [ask.id for ask in page] == [one.id, three.id]
    own = await store.read(lambda tx: tx.asks.open_of_session(here.id, limit=9))
    assert [ask.id for ask in own] == [three.id]


async def test_an_ask_in_a_window_names_the_window_and_its_record(
    store: Store, enter: Enter, clock: FakeClock
) -> None:
    session = await enter("w")
    one, two = await put(store, clock, session), await put(store, clock, session)
    await store.write(lambda tx: tx.windows.put(session.id, terminal="pts/3", directory="/src/vc"))
    await store.write(lambda tx: tx.asks.set_record(one.id, "/home/dana/record.jsonl", record_since=tx.at))
    since = clock.now() + timedelta(seconds=1)
    await store.write(lambda tx: tx.asks.leave_to_window(one.id, record_since=since))
    (in_window,) = await store.read(lambda tx: tx.asks.in_window_of(session.id, limit=9))
    assert (in_window.id, in_window.in_own_window, in_window.window) == (one.id, True, "pts/3, in /src/vc")
    (record,) = await store.read(lambda tx: tx.asks.list_with_record(limit=9))
    assert (record.ask_id, record.record_file, record.record_since) == (one.id, "/home/dana/record.jsonl", since)
    open_asks = await store.read(lambda tx: tx.asks.open_of_session(session.id, limit=9))
    assert [(ask.id, ask.in_own_window) for ask in open_asks] == [(one.id, True), (two.id, False)]
    await close(store, one)
    assert await store.read(lambda tx: tx.asks.in_window_of(session.id, limit=9)) == []


async def test_held_calls_of_hand_started_sessions_are_left_to_their_windows(
    store: Store, enter: Enter, launch: Callable[..., Awaitable[Any]], clock: FakeClock
) -> None:
    by_hand, spawned = await enter("w"), await enter("v")
    await launch(spawned)
    call, question = await put(store, clock, by_hand), await put(store, clock, by_hand)
    held = await put(store, clock, spawned)
    for ask in (call, held):
        await store.write(lambda tx, ask=ask: tx.asks.set_call(ask.id, "d1"))
    assert await store.write(lambda tx: tx.asks.leave_calls_to_windows()) == 1
    left = await store.read(lambda tx: [tx.asks.get(ask.id) for ask in (call, question, held)])
    assert [ask.in_own_window for ask in left if ask is not None] == [True, False, False]


async def test_the_asks_about_a_tool_call_are_found_by_the_digest_of_the_call(
    store: Store, enter: Enter, clock: FakeClock
) -> None:
    session, other = await enter("w"), await enter("v")
    first, second, own = [await put(store, clock, session) for _ in range(3)]
    foreign = await put(store, clock, other)
    for ask in (first, second, foreign):
        await store.write(lambda tx, ask=ask: tx.asks.set_call(ask.id, "d1" if ask is not second else "d2"))
    assert await store.read(lambda tx: tx.asks.asks_of_call(session.id, "d1", limit=9)) == [first]
    assert await store.read(lambda tx: tx.asks.open_asks_of_calls(session.id, limit=9)) == [first, second]
    assert own in await store.read(lambda tx: tx.asks.open_of_session(session.id, limit=9))
    await close(store, first)
    (closed,) = await store.read(lambda tx: tx.asks.asks_of_call(session.id, "d1", limit=9))
    assert closed.status is AskStatus.ANSWERED
    await close(store, second, AskStatus.WITHDRAWN, None)
    assert await store.read(lambda tx: tx.asks.asks_of_call(session.id, "d2", limit=9)) == []


async def test_an_ask_keeps_the_id_of_the_message_with_the_answer(
    store: Store, enter: Enter, clock: FakeClock
) -> None:
    ask = await put(store, clock, await enter("w"))
    assert await store.read(lambda tx: tx.asks.answer_message(ask.id)) is None
    await store.write(lambda tx: tx.asks.set_answer_message(ask.id, "msg_1"))
    assert await store.read(lambda tx: tx.asks.answer_message(ask.id)) == "msg_1"


async def test_open_asks_are_counted_by_session_and_by_parent(store: Store, enter: Enter, clock: FakeClock) -> None:
    parent = await enter("boss")
    first, second = await enter("a", parent_id=parent.id), await enter("b", parent_id=parent.id)
    closed = await put(store, clock, first)
    for session in (first, first, second):
        await put(store, clock, session)
    await close(store, closed)
    assert await store.read(lambda tx: tx.asks.count_open(first.id)) == 2
    assert await store.read(lambda tx: tx.asks.count_open("ses_unknown")) == 0
    assert await store.read(lambda tx: tx.asks.count_open_below(parent.id)) == 3
    only_open = await store.read(lambda tx: tx.asks.list_page(first.project_id, after="", limit=9, only_open=True))
    assert len(only_open) == 3 and closed.id not in {ask.id for ask in only_open}


async def test_an_ask_of_the_server_has_no_session(store: Store) -> None:
    ask = make_ask(session_id=None, asked_by=SERVER_NAME)
    await store.write(lambda tx: tx.asks.insert(ask))
    assert await store.read(lambda tx: tx.asks.get(ask.id)) == ask


async def test_the_codes_of_the_choices_and_of_the_answer_are_stored(
    store: Store, enter: Enter, clock: FakeClock
) -> None:
    session = await enter("w")
    plain = await put(store, clock, session, choices=["yes", "no"])
    assert await store.read(lambda tx: tx.asks.choice_codes(plain.id)) == []
    ask = make_ask(id=ids.new_id("req", clock.now()), session_id=session.id, choices=["adopt by boss", "leave them"])
    codes = ["adopt:ses_1", "leave"]
    await store.write(lambda tx: tx.asks.insert(ask, choice_codes=codes))
    assert await store.read(lambda tx: tx.asks.choice_codes(ask.id)) == codes
    assert await store.read(lambda tx: tx.asks.answer_code(ask.id)) is None
    values = {"status": AskStatus.ANSWERED, "answer": "leave them", "answer_code": "leave", "by": "dana"}
    assert await store.write(lambda tx: tx.asks.close(ask.id, at=tx.at, **values))
    assert await store.read(lambda tx: tx.asks.answer_code(ask.id)) == "leave"
