"""Agents in a terminal: their program's hooks tell whose turn it is; what is pushed comes in beside the keyboard."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from maestro.core import errors, limits
from maestro.domain.asks import Ask
from maestro.domain.asks import Kind as AskKind
from maestro.domain.asks import Status as AskStatus
from maestro.domain.callers import Caller
from maestro.domain.documents import ReportKind
from maestro.domain.sessions import Source, Status
from maestro.domain.talks import Turn
from maestro.operations import asks as ask_ops
from maestro.operations import sessions as session_ops
from maestro.services import asks
from maestro.services.hooks.holding import digest_of, request_for
from maestro.services.sessions import reporting
from maestro.services.talks import told
from maestro.store.base import Tx
from maestro.tools.hooks.base import NOTHING, Happening, Kind, Moment, Question

Terminal = Any


async def test_what_is_said_before_its_first_word_is_held_and_shown_with_it(terminal: Terminal) -> None:
    with pytest.raises(errors.NotConfirmed, match="has sent no event yet"):
        await terminal.prompt("Hurry up.")
    await terminal.fire(Moment.STARTS)
    shown = await terminal.fire(Moment.PROMPT, prompt="Begin.", conversation="c1")
    assert "Hurry up." in shown.text


async def test_its_hooks_tell_whose_turn_it_is(terminal: Terminal) -> None:
    assert await terminal.turn() is Turn.NONE
    for moment, expected in (
        (Moment.STARTS, Turn.NONE),
        (Moment.PROMPT, Turn.WORKING),
        (Moment.BEFORE_TOOL, Turn.WORKING),
        (Moment.WAITS, Turn.ASKING),
        (Moment.AFTER_TOOL, Turn.WORKING),
        (Moment.STOP, Turn.IDLE),
    ):
        await terminal.fire(moment, conversation="c1")
        assert await terminal.turn() is expected, moment
    assert (await terminal.talking.talk()).conversation == "c1"
    session = await terminal.world.session(terminal.caller)
    assert (session.status, session.status_source) == (Status.IDLE, Source.HOOK)


async def test_mail_wakes_it_once_and_is_read_when_the_model_has_it(terminal: Terminal) -> None:
    await terminal.at_rest()
    sent = await terminal.world.send(None, "w", message="Look here.")
    (pushed,) = await terminal.wake()
    assert "Look here." in pushed["text"]
    assert await terminal.state(sent) == "delivered"
    assert await terminal.fire(Moment.PROMPT, prompt=pushed["text"]) is NOTHING, "it is not told twice"
    assert await terminal.state(sent) == "delivered", "the model has not been asked yet"
    await terminal.fire(Moment.STOP)
    assert await terminal.state(sent) == "read"
    assert len(await terminal.wake()) == 1


async def test_another_prompt_is_no_proof_that_a_push_came_in(terminal: Terminal) -> None:
    await terminal.at_rest()
    sent = await terminal.world.send(None, "w", message="Look here.")
    await terminal.wake()
    await terminal.fire(Moment.PROMPT, prompt="The person typed this.")
    await terminal.fire(Moment.STOP)
    assert await terminal.state(sent) == "delivered"
    terminal.world.clock.advance(limits.wake_confirm_seconds + 1)
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
    await terminal.fire(Moment.STOP, transcript=str(record))
    assert await terminal.state(sent) == "read"
    terminal.world.clock.advance(limits.wake_confirm_seconds + 1)
    assert len(await terminal.wake()) == 1
    (used,) = await terminal.world.store.read(lambda tx: tx.talks.usage_of_session(terminal.caller.name, limit=9))
    assert (used.turns, used.input_tokens, used.output_tokens) == (1, 3, 5)
    await terminal.fire(Moment.STOP, transcript=str(record))
    (again,) = await terminal.world.store.read(lambda tx: tx.talks.usage_of_session(terminal.caller.name, limit=9))
    assert again == used, "what was counted is not counted again"


async def test_words_that_only_contain_a_prompt_are_another(terminal: Terminal) -> None:
    await terminal.at_rest()
    sent, _ = await terminal.prompt("go")
    await terminal.fire(Moment.PROMPT, prompt="I am good, and typed this myself.")
    await terminal.fire(Moment.STOP)
    assert await terminal.state(sent) == "delivered"


async def test_whichever_hook_is_the_first_that_is_heard_has_begun(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = await terminal.world.send(None, "w", message="Keep the grammar.")
    monkeypatch.setattr(told, "at_start", lambda tx, session: [sent.id])  # it stood in its first prompt
    await terminal.fire(Moment.BEFORE_TOOL, conversation="c1")
    assert (await terminal.talking.talk()).conversation == "c1"
    await terminal.fire(Moment.MODEL)
    await terminal.fire(Moment.AFTER_TOOL)
    await terminal.fire(Moment.STOP)
    assert await terminal.state(sent) == "read"
    assert await terminal.wake() == []


async def test_what_came_in_unheard_is_not_forgotten_with_what_is_read(terminal: Terminal, tmp_path: Path) -> None:
    await terminal.at_rest()
    first = await terminal.world.send(None, "w", message="Look here.")
    (pushed,) = await terminal.wake()
    second = await terminal.world.send(None, "w", message="And there.")
    assert "And there." in (await terminal.fire(Moment.AFTER_TOOL)).text
    record = tmp_path / "c1.jsonl"
    record.write_text(json.dumps({"message": {"role": "user", "content": pushed["text"]}}) + "\n")
    await terminal.fire(Moment.STOP, transcript=str(record))
    assert [await terminal.state(one) for one in (first, second)] == ["read", "read"]
    terminal.world.clock.advance(limits.wake_confirm_seconds + 1)
    assert len(await terminal.wake()) == 1


async def test_a_push_of_which_nobody_knows_is_not_repeated_at_once(terminal: Terminal) -> None:
    await terminal.at_rest()
    await terminal.world.send(None, "w", message="Look here.")
    terminal.talking.runner.is_away = True
    await terminal.wake()
    terminal.talking.runner.is_away = False
    assert await terminal.wake() == []
    terminal.world.clock.advance(limits.wake_confirm_seconds + 1)
    assert len(await terminal.wake()) == 1


async def test_two_calls_that_read_alike_are_two_requests(terminal: Terminal) -> None:
    await terminal.fire(Moment.PROMPT)
    alike = {"asked": "Write: a.txt", "action": "edit:a.txt"}
    both = [
        asyncio.create_task(terminal.fire(Moment.ASKS, **alike, call=call, details=f"content {call}"))
        for call in ("1", "2")
    ]
    await _asked(terminal)
    await asyncio.sleep(0.05)
    found = await terminal.world.store.read(lambda tx: tx.asks.open(after="", limit=9))
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
    await terminal.fire(Moment.STOP, transcript=str(record))
    assert await terminal.state(sent) == "delivered"


async def test_a_prompt_while_it_works_comes_with_its_next_tool(terminal: Terminal) -> None:
    await terminal.fire(Moment.PROMPT)
    sent, _ = await terminal.prompt("Something new.")
    assert await terminal.wake() == []
    told = await terminal.fire(Moment.AFTER_TOOL)
    assert told.kind is Kind.CONTEXT and "Something new." in told.text
    await terminal.fire(Moment.MODEL)
    await terminal.fire(Moment.BEFORE_TOOL)
    assert await terminal.state(sent) == "read"


async def test_a_prompt_at_rest_is_pushed_as_it_is(terminal: Terminal) -> None:
    await terminal.at_rest()
    sent, _ = await terminal.prompt('Say "hello".')
    (pushed,) = await terminal.wake()
    assert pushed["text"] == 'Say "hello".'
    await terminal.fire(Moment.PROMPT, prompt=pushed["text"])
    await terminal.fire(Moment.STOP)
    assert await terminal.state(sent) == "read"


async def test_a_prompt_while_it_asks_is_held_and_comes_after(terminal: Terminal) -> None:
    await terminal.fire(Moment.PROMPT)
    asking = asyncio.create_task(terminal.fire(Moment.ASKS, asked="Bash: rm -r x", action="shell:rm -r x"))
    ask = await _asked(terminal)
    assert await terminal.turn() is Turn.ASKING
    with pytest.raises(errors.NotConfirmed) as refused:
        await terminal.prompt("Hurry up.")
    await terminal.world.do(asks.answer, ask_ops.AnswerAsk(id=ask.id, answer="allow"))
    assert (await asking).kind is Kind.ALLOW
    assert await terminal.turn() is Turn.WORKING
    told = await terminal.fire(Moment.AFTER_TOOL, asked="Bash: rm -r x")
    assert "Hurry up." in told.text
    assert refused.value.data["id"]


async def test_a_policy_decides_before_anyone_is_asked(terminal: Terminal) -> None:
    await terminal.fire(Moment.PROMPT)
    assert (await terminal.fire(Moment.ASKS, asked="x", action="shell:make test")).kind is Kind.ALLOW
    assert await terminal.world.store.read(lambda tx: tx.asks.open(after="", limit=9)) == []


async def test_a_question_gets_an_answer_and_no_permission(terminal: Terminal) -> None:
    await terminal.fire(Moment.PROMPT)
    asks_for = Question("Which?", "A: the first", ("A", "B"), {"questions": []})
    asking = asyncio.create_task(terminal.fire(Moment.ASKS, asked="q", question=asks_for))
    ask = await _asked(terminal)
    assert (ask.title, ask.choices) == ("Which?", ["A", "B"])
    await terminal.world.do(asks.answer, ask_ops.AnswerAsk(id=ask.id, answer="B"))
    reply = await asking
    assert (reply.kind, reply.text, reply.question) == (Kind.ANSWER, "B", asks_for)


async def test_what_was_asked_of_a_server_that_was_killed_is_asked_once(terminal: Terminal) -> None:
    await terminal.fire(Moment.PROMPT)
    first = asyncio.create_task(terminal.fire(Moment.ASKS, asked="Bash: rm x", action="shell:rm x"))
    ask = await _asked(terminal)
    terminal.restart()
    again = asyncio.create_task(terminal.fire(Moment.ASKS, asked="Bash: rm x", action="shell:rm x"))
    await asyncio.sleep(0.05)
    assert len(await terminal.world.store.read(lambda tx: tx.asks.open(after="", limit=9))) == 1
    await terminal.world.do(asks.answer, ask_ops.AnswerAsk(id=ask.id, answer="deny"))
    assert (await again).kind is Kind.DENY
    assert (await first).kind is Kind.DENY


def open_held_call(tx: Tx, caller: Caller, happening: Happening) -> Ask:
    """Open an ask about a tool call, as a server does that holds the call."""
    ask = asks.create(tx, caller, request_for(happening))
    tx.asks.set_call(ask.id, digest_of(happening))
    return ask


async def test_an_answer_that_a_killed_server_did_not_hand_over_is_handed_over_once(terminal: Terminal) -> None:
    await terminal.fire(Moment.PROMPT)
    wanted = {"asked": "Bash: rm x", "action": "shell:rm x"}
    happening = Happening(tool="claude", event="x", moment=Moment.ASKS, **wanted)
    ask = await terminal.world.do(open_held_call, happening, by=terminal.caller)  # by the killed server
    await terminal.world.do(asks.answer, ask_ops.AnswerAsk(id=ask.id, answer="allow"))
    async with asyncio.timeout(5):
        assert (await terminal.fire(Moment.ASKS, **wanted)).kind is Kind.ALLOW
    assert await terminal.fire(Moment.AFTER_TOOL, asked="Bash: rm x") is NOTHING, "its answer comes as no mail"
    terminal.restart()
    again = asyncio.create_task(terminal.fire(Moment.ASKS, **wanted))
    assert (await _asked(terminal)).id != ask.id, "another call is another request"
    again.cancel()
    await asyncio.gather(again, return_exceptions=True)


async def test_an_answer_to_another_request_of_that_title_is_none(terminal: Terminal) -> None:
    await terminal.fire(Moment.PROMPT)
    wanted = {"asked": "Write: a.txt", "action": "edit:a.txt"}
    happening = Happening(tool="claude", event="x", moment=Moment.ASKS, **wanted, details="one content")
    ask = await terminal.world.do(open_held_call, happening, by=terminal.caller)
    await terminal.world.do(asks.answer, ask_ops.AnswerAsk(id=ask.id, answer="allow"))
    other = asyncio.create_task(terminal.fire(Moment.ASKS, **wanted, details="another content"))
    assert (await _asked(terminal)).text.endswith("another content")
    other.cancel()
    await asyncio.gather(other, return_exceptions=True)


async def test_a_second_hook_of_the_same_request_hears_what_was_decided(terminal: Terminal) -> None:
    await terminal.fire(Moment.PROMPT)
    wanted = {"asked": "Bash: rm x", "action": "shell:rm x"}
    first = asyncio.create_task(terminal.fire(Moment.ASKS, **wanted))
    ask = await _asked(terminal)
    await terminal.world.do(asks.answer, ask_ops.AnswerAsk(id=ask.id, answer="allow"))
    assert (await first).kind is Kind.ALLOW
    assert (await terminal.fire(Moment.ASKS, **wanted)).kind is Kind.ALLOW, "the late one"
    await terminal.fire(Moment.AFTER_TOOL, asked="Bash: rm x")
    again = asyncio.create_task(terminal.fire(Moment.ASKS, **wanted))
    assert (await _asked(terminal)).id != ask.id, "another call is another request"
    again.cancel()
    await asyncio.gather(again, return_exceptions=True)


async def test_it_asks_as_long_as_one_of_its_hooks_waits(terminal: Terminal) -> None:
    await terminal.fire(Moment.PROMPT)
    wanted = {"asked": "Bash: rm x", "action": "shell:rm x"}
    waits, killed = [asyncio.create_task(terminal.fire(Moment.ASKS, **wanted)) for _ in range(2)]
    ask = await _asked(terminal)
    killed.cancel()
    await asyncio.gather(killed, return_exceptions=True)
    assert await terminal.turn() is Turn.ASKING
    await terminal.world.do(asks.answer, ask_ops.AnswerAsk(id=ask.id, answer="allow"))
    assert (await waits).kind is Kind.ALLOW
    assert await terminal.turn() is Turn.WORKING


async def test_what_it_no_longer_waits_for_is_withdrawn(terminal: Terminal) -> None:
    await terminal.fire(Moment.PROMPT)
    asking = asyncio.create_task(terminal.fire(Moment.ASKS, asked="Bash: rm x", action="shell:rm x"))
    ask = await _asked(terminal)
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    terminal.restart()
    await terminal.fire(Moment.STOP)
    now = await terminal.world.store.read(lambda tx: tx.asks.get(ask.id))
    assert now.status is not AskStatus.OPEN


@pytest.mark.parametrize("moment", [Moment.STOP, Moment.PROMPT])
async def test_what_the_agent_itself_asked_for_stays_open(terminal: Terminal, moment: Moment) -> None:
    await terminal.fire(Moment.PROMPT)
    request = ask_ops.CreateAsk(title="May I delete the branch?", kind=AskKind.PERMISSION)
    ask = await terminal.world.do(asks.create, request, by=terminal.caller)
    await terminal.fire(moment)
    now = await terminal.world.store.read(lambda tx: tx.asks.get(ask.id))
    assert now.status is AskStatus.OPEN


async def test_what_a_server_that_was_killed_had_asked_is_withdrawn_with_the_turn(terminal: Terminal) -> None:
    await terminal.fire(Moment.PROMPT)
    asking = asyncio.create_task(terminal.fire(Moment.ASKS, asked="Bash: rm x", action="shell:rm x"))
    ask = await _asked(terminal)
    terminal.restart()
    await terminal.fire(Moment.STOP)
    now = await terminal.world.store.read(lambda tx: tx.asks.get(ask.id))
    assert now.status is AskStatus.WITHDRAWN
    await asyncio.gather(asking)


async def test_a_limit_leaves_it_alone_until_the_minute_it_names(terminal: Terminal) -> None:
    await terminal.at_rest()
    await terminal.fire(Moment.PROMPT)
    problem = "You've hit your limit · resets 11pm (UTC)"
    await terminal.fire(Moment.FAILS, problem=problem, is_limited=True)
    talk = await terminal.talking.talk()
    assert (talk.turn, talk.parked_until is not None) == (Turn.IDLE, True)
    assert (talk.parked_until.hour, talk.parked_until.minute) == (23, 3)
    await terminal.fire(Moment.PROMPT)  # its program goes on by itself
    assert (await terminal.talking.talk()).parked_until is None


async def test_one_that_went_on_by_itself_with_words_alone_is_not_told_to(terminal: Terminal) -> None:
    await terminal.at_rest()
    await terminal.fire(Moment.PROMPT)
    await terminal.fire(Moment.FAILS, problem="You've hit your limit · resets 11pm (UTC)", is_limited=True)
    await terminal.fire(Moment.WAITS, needs_person=False)
    assert (await terminal.talking.talk()).parked_until is not None, "it only says that it still waits"
    await terminal.fire(Moment.STOP)
    assert (await terminal.talking.talk()).parked_until is None
    terminal.world.clock.advance(24 * 3600)
    assert await terminal.wake() == []


async def test_what_it_reported_stands_when_it_stops(terminal: Terminal) -> None:
    await terminal.fire(Moment.PROMPT)
    said = session_ops.ReportSession(kind=ReportKind.COMPLETE, text="done")
    await terminal.world.do(reporting.report, said, by=terminal.caller)
    await terminal.fire(Moment.AFTER_TOOL)
    await terminal.fire(Moment.STOP)
    assert (await terminal.world.session(terminal.caller)).status is Status.COMPLETED
    await terminal.wake()
    assert {"do": "finish"} in terminal.talking.runner.asked
    await terminal.fire(Moment.PROMPT)
    assert (await terminal.world.session(terminal.caller)).status is Status.WORKING


async def _asked(terminal: Terminal) -> Any:
    for _ in range(200):
        await asyncio.sleep(0.01)
        if found := await terminal.world.store.read(lambda tx: tx.asks.open(after="", limit=9)):
            return found[0]
    raise AssertionError("nothing was asked")
