"""A hook holds a tool call until the person answers the ask about the call."""

from __future__ import annotations

import asyncio

from tests.unit.services.conversations.conftest import TerminalSession

from maestro.domain.asks import Ask, AskStatus
from maestro.domain.callers import Caller
from maestro.domain.conversations import TurnState
from maestro.operations import asks as ask_ops
from maestro.services.asks import asks
from maestro.services.hooks.permission_hold import ask_for_call, digest_of_call
from maestro.store.base import Tx
from maestro.tools.hook_dialect import EMPTY_REPLY, HookEvent, HookMoment, HookQuestion, ReplyKind


def open_held_call(tx: Tx, caller: Caller, event: HookEvent) -> Ask:
    """Open an ask about a tool call, as a server that holds the call does."""
    ask = asks.create_ask(tx, caller, ask_for_call(event))
    tx.asks.set_call(ask.id, digest_of_call(event))
    return ask


async def test_two_calls_with_the_same_text_open_two_asks(terminal: TerminalSession) -> None:
    await terminal.fire(HookMoment.PROMPT)
    alike = {"summary": "Write: a.txt", "action": "edit:a.txt"}
    both = [
        asyncio.create_task(terminal.fire(HookMoment.ASKS, **alike, call_digest=call, details=f"content {call}"))
        for call in ("1", "2")
    ]
    found = await terminal.open_asks(2)
    assert sorted(ask.text.splitlines()[-1] for ask in found) == ["content 1", "content 2"]
    for one in both:
        one.cancel()
    await asyncio.gather(*both, return_exceptions=True)


async def test_a_question_gets_an_answer_and_no_permission(terminal: TerminalSession) -> None:
    await terminal.fire(HookMoment.PROMPT)
    asks_for = HookQuestion("Which?", "A: the first", ("A", "B"), {"questions": []})
    asking = asyncio.create_task(terminal.fire(HookMoment.ASKS, summary="q", question=asks_for))
    ask = await terminal.next_ask()
    assert (ask.title, ask.choices) == ("Which?", ["A", "B"])
    await terminal.world.do(asks.answer_ask, ask_ops.AnswerAsk(id=ask.id, answer="B"))
    reply = await asking
    assert (reply.kind, reply.text, reply.question) == (ReplyKind.ANSWER, "B", asks_for)


async def test_a_new_server_reuses_the_open_ask_of_a_killed_server(terminal: TerminalSession) -> None:
    await terminal.fire(HookMoment.PROMPT)
    first = asyncio.create_task(terminal.fire(HookMoment.ASKS, summary="Bash: rm x", action="shell:rm x"))
    ask = await terminal.next_ask()
    terminal.restart()
    again = asyncio.create_task(terminal.fire(HookMoment.ASKS, summary="Bash: rm x", action="shell:rm x"))
    await asyncio.sleep(0.05)
    assert len(await terminal.world.store.read(lambda tx: tx.asks.list_open(after="", limit=9))) == 1
    await terminal.world.do(asks.answer_ask, ask_ops.AnswerAsk(id=ask.id, answer="deny"))
    assert (await again).kind is ReplyKind.DENY
    assert (await first).kind is ReplyKind.DENY


async def test_the_answer_to_an_ask_of_a_killed_server_is_used_for_one_call_only(terminal: TerminalSession) -> None:
    await terminal.fire(HookMoment.PROMPT)
    wanted = {"summary": "Bash: rm x", "action": "shell:rm x"}
    event = HookEvent(tool="claude", event="x", moment=HookMoment.ASKS, **wanted)
    ask = await terminal.world.do(open_held_call, event, by=terminal.caller)  # the ask of the killed server
    await terminal.world.do(asks.answer_ask, ask_ops.AnswerAsk(id=ask.id, answer="allow"))
    async with asyncio.timeout(5):
        assert (await terminal.fire(HookMoment.ASKS, **wanted)).kind is ReplyKind.ALLOW
    assert await terminal.fire(HookMoment.AFTER_TOOL, summary="Bash: rm x") is EMPTY_REPLY, (
        "the answer is not shown as mail"
    )
    terminal.restart()
    again = asyncio.create_task(terminal.fire(HookMoment.ASKS, **wanted))
    assert (await terminal.next_ask()).id != ask.id, "another call opens another ask"
    again.cancel()
    await asyncio.gather(again, return_exceptions=True)


async def test_a_call_does_not_use_the_answer_to_another_call_with_the_same_title(terminal: TerminalSession) -> None:
    await terminal.fire(HookMoment.PROMPT)
    wanted = {"summary": "Write: a.txt", "action": "edit:a.txt"}
    event = HookEvent(tool="claude", event="x", moment=HookMoment.ASKS, **wanted, details="one content")
    ask = await terminal.world.do(open_held_call, event, by=terminal.caller)
    await terminal.world.do(asks.answer_ask, ask_ops.AnswerAsk(id=ask.id, answer="allow"))
    other = asyncio.create_task(terminal.fire(HookMoment.ASKS, **wanted, details="another content"))
    assert (await terminal.next_ask()).text.endswith("another content")
    other.cancel()
    await asyncio.gather(other, return_exceptions=True)


async def test_a_second_hook_of_the_same_call_gets_the_same_reply(terminal: TerminalSession) -> None:
    await terminal.fire(HookMoment.PROMPT)
    wanted = {"summary": "Bash: rm x", "action": "shell:rm x"}
    first = asyncio.create_task(terminal.fire(HookMoment.ASKS, **wanted))
    ask = await terminal.next_ask()
    await terminal.world.do(asks.answer_ask, ask_ops.AnswerAsk(id=ask.id, answer="allow"))
    assert (await first).kind is ReplyKind.ALLOW
    assert (await terminal.fire(HookMoment.ASKS, **wanted)).kind is ReplyKind.ALLOW, "a late hook of the same call"
    await terminal.fire(HookMoment.AFTER_TOOL, summary="Bash: rm x")
    again = asyncio.create_task(terminal.fire(HookMoment.ASKS, **wanted))
    assert (await terminal.next_ask()).id != ask.id, "another call opens another ask"
    again.cancel()
    await asyncio.gather(again, return_exceptions=True)


async def test_the_turn_stays_asking_while_one_hook_of_the_call_waits(terminal: TerminalSession) -> None:
    await terminal.fire(HookMoment.PROMPT)
    wanted = {"summary": "Bash: rm x", "action": "shell:rm x"}
    waits, killed = [asyncio.create_task(terminal.fire(HookMoment.ASKS, **wanted)) for _ in range(2)]
    ask = await terminal.next_ask()
    killed.cancel()
    await asyncio.gather(killed, return_exceptions=True)
    assert await terminal.turn() is TurnState.ASKING
    await terminal.world.do(asks.answer_ask, ask_ops.AnswerAsk(id=ask.id, answer="allow"))
    assert (await waits).kind is ReplyKind.ALLOW
    assert await terminal.turn() is TurnState.WORKING


async def test_an_ask_without_a_waiting_hook_is_not_open_after_the_end_of_the_turn(terminal: TerminalSession) -> None:
    await terminal.fire(HookMoment.PROMPT)
    asking = asyncio.create_task(terminal.fire(HookMoment.ASKS, summary="Bash: rm x", action="shell:rm x"))
    ask = await terminal.next_ask()
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    terminal.restart()
    await terminal.fire(HookMoment.STOP)
    now = await terminal.world.store.read(lambda tx: tx.asks.get(ask.id))
    assert now.status is not AskStatus.OPEN
