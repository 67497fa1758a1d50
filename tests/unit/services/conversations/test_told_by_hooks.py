"""Agents in a terminal: their program's hooks tell whose turn it is; what is pushed comes in beside the keyboard."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from maestro.core import errors, limits
from maestro.domain.asks import Ask, AskKind, AskStatus
from maestro.domain.callers import Caller
from maestro.domain.conversations import TurnState
from maestro.domain.documents import ReportKind
from maestro.domain.sessions import SessionStatus, StatusSource
from maestro.operations import asks as ask_ops
from maestro.operations import sessions as session_ops
from maestro.services.asks import asks
from maestro.services.conversations import pending_pushes
from maestro.services.hooks.permission_hold import ask_for_call, digest_of_call
from maestro.services.tasks import session_report
from maestro.store.base import Tx
from maestro.tools.hook_dialect import EMPTY_REPLY, HookEvent, HookMoment, HookQuestion, ReplyKind

Terminal = Any


async def test_what_is_said_before_its_first_word_is_held_and_shown_with_it(terminal: Terminal) -> None:
    with pytest.raises(errors.NotConfirmed, match="has sent no event yet"):
        await terminal.prompt("Hurry up.")
    await terminal.fire(HookMoment.STARTS)
    shown = await terminal.fire(HookMoment.PROMPT, prompt="Begin.", conversation="c1")
    assert "Hurry up." in shown.text


async def test_its_hooks_tell_whose_turn_it_is(terminal: Terminal) -> None:
    assert await terminal.turn() is TurnState.NONE
    for moment, expected in (
        (HookMoment.STARTS, TurnState.NONE),
        (HookMoment.PROMPT, TurnState.WORKING),
        (HookMoment.BEFORE_TOOL, TurnState.WORKING),
        (HookMoment.WAITS, TurnState.ASKING),
        (HookMoment.AFTER_TOOL, TurnState.WORKING),
        (HookMoment.STOP, TurnState.IDLE),
    ):
        await terminal.fire(moment, conversation="c1")
        assert await terminal.turn() is expected, moment
    assert (await terminal.talking.talk()).conversation == "c1"
    session = await terminal.world.session(terminal.caller)
    assert (session.status, session.status_source) == (SessionStatus.IDLE, StatusSource.HOOK)


async def test_mail_wakes_it_once_and_is_read_when_the_model_has_it(terminal: Terminal) -> None:
    await terminal.at_rest()
    sent = await terminal.world.send(None, "w", message="Look here.")
    (pushed,) = await terminal.wake()
    assert "Look here." in pushed["text"]
    assert await terminal.state(sent) == "delivered"
    assert await terminal.fire(HookMoment.PROMPT, prompt=pushed["text"]) is EMPTY_REPLY, "it is not told twice"
    assert await terminal.state(sent) == "delivered", "the model has not been asked yet"
    await terminal.fire(HookMoment.STOP)
    assert await terminal.state(sent) == "read"
    assert len(await terminal.wake()) == 1


async def test_another_prompt_is_no_proof_that_a_push_came_in(terminal: Terminal) -> None:
    await terminal.at_rest()
    sent = await terminal.world.send(None, "w", message="Look here.")
    await terminal.wake()
    await terminal.fire(HookMoment.PROMPT, prompt="The person typed this.")
    await terminal.fire(HookMoment.STOP)
    assert await terminal.state(sent) == "delivered"
    terminal.world.clock.advance(limits.push_confirm_seconds + 1)
    assert len(await terminal.wake()) == 2, "it is pushed again"


async def test_its_record_tells_what_came_in_while_no_server_heard_its_hooks(
    terminal: Terminal, tmp_path: Path
) -> None:
    await terminal.at_rest()
    sent = await terminal.world.send(None, "w", message="Look here.")
    (pushed,) = await terminal.wake()
    record = tmp_path / "c1.jsonl"
    lines = [
        {"type": "queue-operation", "content": "not yet in"},
        {"message": {"role": "user", "content": pushed["text"]}},
        {"message": {"id": "m1", "model": "x", "usage": {"input_tokens": 3, "output_tokens": 4}}},
        {"message": {"id": "m1", "model": "x", "usage": {"input_tokens": 3, "output_tokens": 5}}},
        {"message": {"id": "m2", "model": "<synthetic>", "usage": {"input_tokens": 9, "output_tokens": 9}}},
    ]
    record.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
    terminal.restart()
    await terminal.fire(HookMoment.STOP, transcript=str(record))
    assert await terminal.state(sent) == "read"
    terminal.world.clock.advance(limits.push_confirm_seconds + 1)
    assert len(await terminal.wake()) == 1
    (used,) = await terminal.world.store.read(
        lambda tx: tx.conversations.usage_of_session(terminal.caller.name, limit=9)
    )
    assert (used.turns, used.input_tokens, used.output_tokens) == (1, 3, 5)
    await terminal.fire(HookMoment.STOP, transcript=str(record))
    (again,) = await terminal.world.store.read(
        lambda tx: tx.conversations.usage_of_session(terminal.caller.name, limit=9)
    )
    assert again == used, "what was counted is not counted again"


async def test_words_that_only_contain_a_prompt_are_another(terminal: Terminal) -> None:
    await terminal.at_rest()
    sent, _ = await terminal.prompt("go")
    await terminal.fire(HookMoment.PROMPT, prompt="I am good, and typed this myself.")
    await terminal.fire(HookMoment.STOP)
    assert await terminal.state(sent) == "delivered"


async def test_whichever_hook_is_the_first_that_is_heard_has_begun(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = await terminal.world.send(None, "w", message="Keep the grammar.")
    monkeypatch.setattr(
        pending_pushes, "messages_of_first_prompt", lambda tx, session: [sent.id]
    )  # it stood in its first prompt
    await terminal.fire(HookMoment.BEFORE_TOOL, conversation="c1")
    assert (await terminal.talking.talk()).conversation == "c1"
    await terminal.fire(HookMoment.MODEL)
    await terminal.fire(HookMoment.AFTER_TOOL)
    await terminal.fire(HookMoment.STOP)
    assert await terminal.state(sent) == "read"
    assert await terminal.wake() == []


async def test_what_came_in_unheard_is_not_forgotten_with_what_is_read(terminal: Terminal, tmp_path: Path) -> None:
    await terminal.at_rest()
    first = await terminal.world.send(None, "w", message="Look here.")
    (pushed,) = await terminal.wake()
    second = await terminal.world.send(None, "w", message="And there.")
    assert "And there." in (await terminal.fire(HookMoment.AFTER_TOOL)).text
    record = tmp_path / "c1.jsonl"
    record.write_text(json.dumps({"message": {"role": "user", "content": pushed["text"]}}) + "\n")
    await terminal.fire(HookMoment.STOP, transcript=str(record))
    assert [await terminal.state(one) for one in (first, second)] == ["read", "read"]
    terminal.world.clock.advance(limits.push_confirm_seconds + 1)
    assert len(await terminal.wake()) == 1


async def test_a_push_of_which_nobody_knows_is_not_repeated_at_once(terminal: Terminal) -> None:
    await terminal.at_rest()
    await terminal.world.send(None, "w", message="Look here.")
    terminal.talking.runner.is_away = True
    await terminal.wake()
    terminal.talking.runner.is_away = False
    assert await terminal.wake() == []
    terminal.world.clock.advance(limits.push_confirm_seconds + 1)
    assert len(await terminal.wake()) == 1


async def test_two_calls_that_read_alike_are_two_requests(terminal: Terminal) -> None:
    await terminal.fire(HookMoment.PROMPT)
    alike = {"summary": "Write: a.txt", "action": "edit:a.txt"}
    both = [
        asyncio.create_task(terminal.fire(HookMoment.ASKS, **alike, call_digest=call, details=f"content {call}"))
        for call in ("1", "2")
    ]
    await _asked(terminal)
    await asyncio.sleep(0.05)
    found = await terminal.world.store.read(lambda tx: tx.asks.list_open(after="", limit=9))
    assert sorted(one.text.splitlines()[-1] for one in found) == ["content 1", "content 2"]
    for one in both:
        one.cancel()
    await asyncio.gather(*both, return_exceptions=True)


async def test_what_only_waits_in_a_queue_has_not_come_in(terminal: Terminal, tmp_path: Path) -> None:
    await terminal.at_rest()
    sent = await terminal.world.send(None, "w", message="Look here.")
    (pushed,) = await terminal.wake()
    record = tmp_path / "c1.jsonl"
    queued = {"type": "queue-operation", "operation": "enqueue", "content": pushed["text"]}
    record.write_text(json.dumps(queued, separators=(",", ":")) + "\n")
    await terminal.fire(HookMoment.STOP, transcript=str(record))
    assert await terminal.state(sent) == "delivered"


async def test_a_prompt_while_it_works_comes_with_its_next_tool(terminal: Terminal) -> None:
    await terminal.fire(HookMoment.PROMPT)
    sent, _ = await terminal.prompt("Something new.")
    assert await terminal.wake() == []
    told = await terminal.fire(HookMoment.AFTER_TOOL)
    assert told.kind is ReplyKind.CONTEXT and "Something new." in told.text
    await terminal.fire(HookMoment.MODEL)
    await terminal.fire(HookMoment.BEFORE_TOOL)
    assert await terminal.state(sent) == "read"


async def test_a_prompt_at_rest_is_pushed_as_it_is(terminal: Terminal) -> None:
    await terminal.at_rest()
    sent, _ = await terminal.prompt('Say "hello".')
    (pushed,) = await terminal.wake()
    assert pushed["text"] == 'Say "hello".'
    await terminal.fire(HookMoment.PROMPT, prompt=pushed["text"])
    await terminal.fire(HookMoment.STOP)
    assert await terminal.state(sent) == "read"


async def test_a_prompt_while_it_asks_is_held_and_comes_after(terminal: Terminal) -> None:
    await terminal.fire(HookMoment.PROMPT)
    asking = asyncio.create_task(terminal.fire(HookMoment.ASKS, summary="Bash: rm -r x", action="shell:rm -r x"))
    ask = await _asked(terminal)
    assert await terminal.turn() is TurnState.ASKING
    with pytest.raises(errors.NotConfirmed) as refused:
        await terminal.prompt("Hurry up.")
    await terminal.world.do(asks.answer_ask, ask_ops.AnswerAsk(id=ask.id, answer="allow"))
    assert (await asking).kind is ReplyKind.ALLOW
    assert await terminal.turn() is TurnState.WORKING
    told = await terminal.fire(HookMoment.AFTER_TOOL, summary="Bash: rm -r x")
    assert "Hurry up." in told.text
    assert refused.value.data["id"]


async def test_a_policy_decides_before_anyone_is_asked(terminal: Terminal) -> None:
    await terminal.fire(HookMoment.PROMPT)
    assert (await terminal.fire(HookMoment.ASKS, summary="x", action="shell:make test")).kind is ReplyKind.ALLOW
    assert await terminal.world.store.read(lambda tx: tx.asks.list_open(after="", limit=9)) == []


async def test_a_question_gets_an_answer_and_no_permission(terminal: Terminal) -> None:
    await terminal.fire(HookMoment.PROMPT)
    asks_for = HookQuestion("Which?", "A: the first", ("A", "B"), {"questions": []})
    asking = asyncio.create_task(terminal.fire(HookMoment.ASKS, summary="q", question=asks_for))
    ask = await _asked(terminal)
    assert (ask.title, ask.choices) == ("Which?", ["A", "B"])
    await terminal.world.do(asks.answer_ask, ask_ops.AnswerAsk(id=ask.id, answer="B"))
    reply = await asking
    assert (reply.kind, reply.text, reply.question) == (ReplyKind.ANSWER, "B", asks_for)


async def test_what_was_asked_of_a_server_that_was_killed_is_asked_once(terminal: Terminal) -> None:
    await terminal.fire(HookMoment.PROMPT)
    first = asyncio.create_task(terminal.fire(HookMoment.ASKS, summary="Bash: rm x", action="shell:rm x"))
    ask = await _asked(terminal)
    terminal.restart()
    again = asyncio.create_task(terminal.fire(HookMoment.ASKS, summary="Bash: rm x", action="shell:rm x"))
    await asyncio.sleep(0.05)
    assert len(await terminal.world.store.read(lambda tx: tx.asks.list_open(after="", limit=9))) == 1
    await terminal.world.do(asks.answer_ask, ask_ops.AnswerAsk(id=ask.id, answer="deny"))
    assert (await again).kind is ReplyKind.DENY
    assert (await first).kind is ReplyKind.DENY


def open_held_call(tx: Tx, caller: Caller, happening: HookEvent) -> Ask:
    """Open an ask about a tool call, as a server does that holds the call."""
    ask = asks.create_ask(tx, caller, ask_for_call(happening))
    tx.asks.set_call(ask.id, digest_of_call(happening))
    return ask


async def test_an_answer_that_a_killed_server_did_not_hand_over_is_handed_over_once(terminal: Terminal) -> None:
    await terminal.fire(HookMoment.PROMPT)
    wanted = {"summary": "Bash: rm x", "action": "shell:rm x"}
    happening = HookEvent(tool="claude", event="x", moment=HookMoment.ASKS, **wanted)
    ask = await terminal.world.do(open_held_call, happening, by=terminal.caller)  # by the killed server
    await terminal.world.do(asks.answer_ask, ask_ops.AnswerAsk(id=ask.id, answer="allow"))
    async with asyncio.timeout(5):
        assert (await terminal.fire(HookMoment.ASKS, **wanted)).kind is ReplyKind.ALLOW
    assert await terminal.fire(HookMoment.AFTER_TOOL, summary="Bash: rm x") is EMPTY_REPLY, (
        "its answer comes as no mail"
    )
    terminal.restart()
    again = asyncio.create_task(terminal.fire(HookMoment.ASKS, **wanted))
    assert (await _asked(terminal)).id != ask.id, "another call is another request"
    again.cancel()
    await asyncio.gather(again, return_exceptions=True)


async def test_an_answer_to_another_request_of_that_title_is_none(terminal: Terminal) -> None:
    await terminal.fire(HookMoment.PROMPT)
    wanted = {"summary": "Write: a.txt", "action": "edit:a.txt"}
    happening = HookEvent(tool="claude", event="x", moment=HookMoment.ASKS, **wanted, details="one content")
    ask = await terminal.world.do(open_held_call, happening, by=terminal.caller)
    await terminal.world.do(asks.answer_ask, ask_ops.AnswerAsk(id=ask.id, answer="allow"))
    other = asyncio.create_task(terminal.fire(HookMoment.ASKS, **wanted, details="another content"))
    assert (await _asked(terminal)).text.endswith("another content")
    other.cancel()
    await asyncio.gather(other, return_exceptions=True)


async def test_a_second_hook_of_the_same_request_hears_what_was_decided(terminal: Terminal) -> None:
    await terminal.fire(HookMoment.PROMPT)
    wanted = {"summary": "Bash: rm x", "action": "shell:rm x"}
    first = asyncio.create_task(terminal.fire(HookMoment.ASKS, **wanted))
    ask = await _asked(terminal)
    await terminal.world.do(asks.answer_ask, ask_ops.AnswerAsk(id=ask.id, answer="allow"))
    assert (await first).kind is ReplyKind.ALLOW
    assert (await terminal.fire(HookMoment.ASKS, **wanted)).kind is ReplyKind.ALLOW, "the late one"
    await terminal.fire(HookMoment.AFTER_TOOL, summary="Bash: rm x")
    again = asyncio.create_task(terminal.fire(HookMoment.ASKS, **wanted))
    assert (await _asked(terminal)).id != ask.id, "another call is another request"
    again.cancel()
    await asyncio.gather(again, return_exceptions=True)


async def test_it_asks_as_long_as_one_of_its_hooks_waits(terminal: Terminal) -> None:
    await terminal.fire(HookMoment.PROMPT)
    wanted = {"summary": "Bash: rm x", "action": "shell:rm x"}
    waits, killed = [asyncio.create_task(terminal.fire(HookMoment.ASKS, **wanted)) for _ in range(2)]
    ask = await _asked(terminal)
    killed.cancel()
    await asyncio.gather(killed, return_exceptions=True)
    assert await terminal.turn() is TurnState.ASKING
    await terminal.world.do(asks.answer_ask, ask_ops.AnswerAsk(id=ask.id, answer="allow"))
    assert (await waits).kind is ReplyKind.ALLOW
    assert await terminal.turn() is TurnState.WORKING


async def test_what_it_no_longer_waits_for_is_withdrawn(terminal: Terminal) -> None:
    await terminal.fire(HookMoment.PROMPT)
    asking = asyncio.create_task(terminal.fire(HookMoment.ASKS, summary="Bash: rm x", action="shell:rm x"))
    ask = await _asked(terminal)
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    terminal.restart()
    await terminal.fire(HookMoment.STOP)
    now = await terminal.world.store.read(lambda tx: tx.asks.get(ask.id))
    assert now.status is not AskStatus.OPEN


@pytest.mark.parametrize("moment", [HookMoment.STOP, HookMoment.PROMPT])
async def test_what_the_agent_itself_asked_for_stays_open(terminal: Terminal, moment: HookMoment) -> None:
    await terminal.fire(HookMoment.PROMPT)
    request = ask_ops.CreateAsk(title="May I delete the branch?", kind=AskKind.PERMISSION)
    ask = await terminal.world.do(asks.create_ask, request, by=terminal.caller)
    await terminal.fire(moment)
    now = await terminal.world.store.read(lambda tx: tx.asks.get(ask.id))
    assert now.status is AskStatus.OPEN


async def test_what_a_server_that_was_killed_had_asked_is_withdrawn_with_the_turn(terminal: Terminal) -> None:
    await terminal.fire(HookMoment.PROMPT)
    asking = asyncio.create_task(terminal.fire(HookMoment.ASKS, summary="Bash: rm x", action="shell:rm x"))
    ask = await _asked(terminal)
    terminal.restart()
    await terminal.fire(HookMoment.STOP)
    now = await terminal.world.store.read(lambda tx: tx.asks.get(ask.id))
    assert now.status is AskStatus.WITHDRAWN
    await asyncio.gather(asking)


async def test_a_limit_leaves_it_alone_until_the_minute_it_names(terminal: Terminal) -> None:
    await terminal.at_rest()
    await terminal.fire(HookMoment.PROMPT)
    problem = "You've hit your limit · resets 11pm (UTC)"
    await terminal.fire(HookMoment.FAILS, problem=problem, is_limited=True)
    talk = await terminal.talking.talk()
    assert (talk.turn, talk.parked_until is not None) == (TurnState.IDLE, True)
    assert (talk.parked_until.hour, talk.parked_until.minute) == (23, 3)
    await terminal.fire(HookMoment.PROMPT)  # its program goes on by itself
    assert (await terminal.talking.talk()).parked_until is None


async def test_one_that_went_on_by_itself_with_words_alone_is_not_told_to(terminal: Terminal) -> None:
    await terminal.at_rest()
    await terminal.fire(HookMoment.PROMPT)
    await terminal.fire(HookMoment.FAILS, problem="You've hit your limit · resets 11pm (UTC)", is_limited=True)
    await terminal.fire(HookMoment.WAITS, needs_person=False)
    assert (await terminal.talking.talk()).parked_until is not None, "it only says that it still waits"
    await terminal.fire(HookMoment.STOP)
    assert (await terminal.talking.talk()).parked_until is None
    terminal.world.clock.advance(24 * 3600)
    assert await terminal.wake() == []


async def test_what_it_reported_stands_when_it_stops(terminal: Terminal) -> None:
    await terminal.fire(HookMoment.PROMPT)
    said = session_ops.ReportSession(kind=ReportKind.COMPLETE, text="done")
    await terminal.world.do(session_report.report_work, said, by=terminal.caller)
    await terminal.fire(HookMoment.AFTER_TOOL)
    await terminal.fire(HookMoment.STOP)
    assert (await terminal.world.session(terminal.caller)).status is SessionStatus.COMPLETED
    await terminal.wake()
    assert {"do": "finish"} in terminal.talking.runner.asked
    await terminal.fire(HookMoment.PROMPT)
    assert (await terminal.world.session(terminal.caller)).status is SessionStatus.WORKING


async def _asked(terminal: Terminal) -> Any:
    for _ in range(200):
        await asyncio.sleep(0.01)
        if found := await terminal.world.store.read(lambda tx: tx.asks.list_open(after="", limit=9)):
            return found[0]
    raise AssertionError("nothing was asked")
