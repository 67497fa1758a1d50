"""What runners tell of conversations: taken in once, and what follows from it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from maestro.core import limits
from maestro.domain.asks import AskStatus
from maestro.domain.documents import ReportKind
from maestro.operations import asks as ask_ops
from maestro.operations import sessions as session_ops
from maestro.services.asks import asks
from maestro.services.conversations.program_asks import reply_for_tool
from maestro.services.tasks import session_report as session_reports
from maestro.tools.conversation_events import UNANSWERED

Talking = Any
ASKED = {
    "ask": "a1",
    "what": "permission",
    "title": "Bash: git push",
    "text": "git push",
    "choices": ["allow", "deny"],
}


async def usage(talking: Talking) -> list[Any]:
    found: list[Any] = await talking.world.store.read(
        lambda tx: tx.conversations.usage_of_session(talking.caller.name, limit=10)
    )
    return found


async def opened(talking: Talking) -> list[Any]:
    found: list[Any] = await talking.world.store.read(lambda tx: tx.asks.list_open(after="", limit=10))
    return found


async def test_turns_are_the_status(talking: Talking) -> None:
    await talking.tell("turn_started")
    assert await talking.status == "working"
    await talking.tell("turn_ended")
    session = await talking.world.session(talking.caller)
    assert (session.status, session.status_source, session.status_until) == ("idle", "protocol", None)


async def test_a_word_that_comes_twice_is_taken_in_once(talking: Talking) -> None:
    ended = {"usage": {"input_tokens": 10, "output_tokens": 20, "cost_usd": 0.5}}
    await talking.again("turn_ended", n=1, **ended)
    await talking.again("turn_ended", n=1, **ended)
    (used,) = await usage(talking)
    assert (used.turns, used.input_tokens, used.output_tokens, used.cost_usd) == (1, 10, 20, 0.5)
    await talking.again("turn_ended", n=2, usage={"input_tokens": 1})
    (used,) = await usage(talking)
    assert (used.turns, used.input_tokens, used.cost_usd) == (2, 11, 0.5)


async def test_what_is_taken_counts_for_the_one_task_it_holds(talking: Talking) -> None:
    task = await talking.world.task(held_by=talking.caller)
    await talking.tell("turn_ended", usage={"output_tokens": 7})
    (used,) = await talking.world.store.read(lambda tx: tx.conversations.usage_of_task(task.id, limit=10))
    assert (used.task_id, used.output_tokens, used.cost_usd) == (task.id, 7, None)


@pytest.mark.parametrize("kind", [ReportKind.COMPLETE, ReportKind.BLOCKED])
async def test_what_it_reported_itself_outlasts_the_turn(talking: Talking, kind: ReportKind) -> None:
    await talking.tell("turn_started")
    said = session_ops.ReportSession(kind=kind, text="so it is")
    await talking.world.do(session_reports.report_work, said, by=talking.caller)
    before = await talking.status
    await talking.tell("turn_ended")
    assert await talking.status == before == {"complete": "completed", "blocked": "needs_input"}[kind]


async def test_the_tools_own_id_is_kept(talking: Talking) -> None:
    await talking.tell("began", conversation="abc")
    assert (await talking.talk()).conversation == "abc"
    await talking.tell("began", conversation="")
    assert (await talking.talk()).conversation is None


async def test_a_turn_that_failed_is_told_to_whoever_leads(talking: Talking) -> None:
    await talking.tell("turn_ended", problem="API Error: 500")
    boss = await talking.world.caller((await talking.world.session(talking.caller)).parent_id)
    assert "w could not go on" in await talking.world.subjects(boss)


async def test_a_prompt_is_read_when_the_model_has_it(talking: Talking) -> None:
    sent = await talking.world.send(None, "w")
    await talking.tell("taken_in", prompt=sent.id)
    assert await talking.world.states(sent) == {talking.caller.name: "read"}
    await talking.tell("taken_in", prompt="nothing that we know")


async def test_what_a_tool_asks_is_asked_of_the_person(talking: Talking) -> None:
    await talking.tell("turn_started")
    await talking.tell("asked", **ASKED)
    (ask,) = await opened(talking)
    assert (ask.kind, ask.title, ask.choices) == ("permission", "Bash: git push", ["allow", "deny"])
    assert await talking.status == "needs_input"
    await talking.world.do(asks.answer_ask, ask_ops.AnswerAsk(id=ask.id, answer="allow"))
    assert await talking.status == "needs_input", "its tool has not said that it goes on"
    assert await talking.world.subjects(talking.caller) == [], "the answer is no mail"
    await talking.answering.run_once()
    assert talking.runner.asked[-1] == {"do": "answer", "ask": "a1", "choice": "allow"}
    await talking.tell("ask_gone", ask="a1")
    assert await talking.status == "working"
    await talking.answering.run_once()
    assert len(talking.runner.asked) == 1


async def test_what_is_asked_stands_on_one_line_and_is_seen_to_be_cut(talking: Talking) -> None:
    await talking.tell("asked", **ASKED | {"title": "shell: ls\nrm -rf x"})
    await talking.tell("asked", **ASKED | {"ask": "a2", "title": "x" * 1_000})
    first, second = await opened(talking)
    assert first.title == "shell: ls rm -rf x"
    assert (len(second.title), second.title[-1]) == (limits.subject_chars_max, "…")


async def test_an_answer_is_told_until_the_tool_has_it(talking: Talking) -> None:
    await talking.tell("asked", **ASKED)
    (ask,) = await opened(talking)
    await talking.world.do(asks.answer_ask, ask_ops.AnswerAsk(id=ask.id, answer="deny"))
    talking.runner.is_away = True
    assert await talking.answering.run_once() is not None
    talking.runner.is_away = False
    assert await talking.answering.run_once() is None
    assert talking.runner.asked == [{"do": "answer", "ask": "a1", "choice": "deny"}]


async def test_what_the_tool_no_longer_waits_for_is_withdrawn(talking: Talking) -> None:
    await talking.tell("turn_started")
    await talking.tell("asked", **ASKED)
    (ask,) = await opened(talking)
    await talking.tell("ask_gone", ask="a1")
    now = await talking.world.store.read(lambda tx: tx.asks.get(ask.id))
    assert now.status is AskStatus.WITHDRAWN
    assert await talking.status == "working"


async def test_a_request_that_is_put_aside_is_refused_and_not_forgotten(talking: Talking) -> None:
    await talking.tell("asked", **ASKED)
    (ask,) = await opened(talking)
    await talking.world.do(asks.withdraw_ask, ask_ops.OneAsk(id=ask.id))
    now = await talking.world.store.read(lambda tx: tx.asks.get(ask.id))
    assert reply_for_tool(now) == "deny"
    await talking.answering.run_once()
    assert talking.runner.asked[-1]["choice"] == "deny"


async def test_a_question_that_is_put_aside_has_no_answer(talking: Talking) -> None:
    await talking.tell("asked", ask="q", what="question", title="Which?", text="", choices=["A", "B"])
    (ask,) = await opened(talking)
    await talking.world.do(asks.withdraw_ask, ask_ops.OneAsk(id=ask.id))
    await talking.answering.run_once()
    assert talking.runner.asked[-1]["choice"] == UNANSWERED


async def test_a_question_is_answered_in_any_words(talking: Talking) -> None:
    await talking.tell("asked", ask="q", what="question", title="Which?", text="", choices=["A", "B"])
    (ask,) = await opened(talking)
    await talking.world.do(asks.answer_ask, ask_ops.AnswerAsk(id=ask.id, answer="neither of them"))
    await talking.answering.run_once()
    assert talking.runner.asked[-1]["choice"] == "neither of them"


async def test_a_limit_parks_it_and_it_is_told_once_to_go_on(talking: Talking) -> None:
    await talking.tell("turn_started")
    until = talking.world.clock.now() + timedelta(seconds=30)
    await talking.tell("rate_limited", until=until.timestamp(), detail="Too much.")
    await talking.tell("turn_ended", problem="Too much.")
    assert (await talking.talk()).parked_until == until
    assert await talking.waking.run_once() == until
    assert talking.runner.prompts() == []
    talking.world.clock.advance(31)
    await talking.waking.run_once()
    (push,) = talking.runner.prompts()
    assert "limit is over" in push["text"]
    await talking.waking.run_once()
    assert len(talking.runner.prompts()) == 1


async def test_a_limit_without_an_end_or_with_one_too_far_has_a_usual_one(talking: Talking) -> None:
    usual = talking.world.clock.now() + timedelta(seconds=limits.parked_seconds_default)
    await talking.tell("rate_limited", until=None)
    assert abs(((await talking.talk()).parked_until - usual).total_seconds()) < 1
    await talking.tell("rate_limited", until=9e12)
    assert abs(((await talking.talk()).parked_until - usual).total_seconds()) < 1
