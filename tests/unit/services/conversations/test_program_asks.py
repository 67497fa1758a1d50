"""A tool opens asks over its protocol and gets the answers of the person as replies."""

from __future__ import annotations

from typing import Any

from tests.unit.services.conftest import World
from tests.unit.services.conversations.conftest import ProgramSession, spoken_with

from maestro.core import limits
from maestro.domain.asks import AskStatus
from maestro.operations import asks as ask_ops
from maestro.services.asks import asks
from maestro.services.conversations.program_asks import reply_for_tool
from maestro.tools.conversation_events import UNANSWERED

ASKED = {
    "ask": "a1",
    "what": "permission",
    "title": "Bash: git push",
    "text": "git push",
    "choices": ["allow", "deny"],
}


async def open_asks(program: ProgramSession) -> list[Any]:
    found: list[Any] = await program.world.store.read(lambda tx: tx.asks.list_open(after="", limit=10))
    return found


async def test_a_permission_request_of_a_tool_opens_an_ask_to_the_person(program: ProgramSession) -> None:
    await program.report_event("turn_started")
    await program.report_event("asked", **ASKED)
    (ask,) = await open_asks(program)
    assert (ask.kind, ask.title, ask.choices) == ("permission", "Bash: git push", ["allow", "deny"])
    assert await program.status == "needs_input"
    await program.world.do(asks.answer_ask, ask_ops.AnswerAsk(id=ask.id, answer="allow"))
    assert await program.status == "needs_input", "the tool has not reported the end of the ask"
    assert await program.world.subjects(program.caller) == [], "the answer is not sent as mail"
    await program.answer_job.run_once()
    assert program.runner.requests[-1] == {"do": "answer", "ask": "a1", "choice": "allow"}
    await program.report_event("ask_gone", ask="a1")
    assert await program.status == "working"
    await program.answer_job.run_once()
    assert len(program.runner.requests) == 1


async def test_the_title_of_an_ask_is_one_line_and_a_cut_is_marked(program: ProgramSession) -> None:
    await program.report_event("asked", **ASKED | {"title": "shell: ls\nrm -rf x"})
    await program.report_event("asked", **ASKED | {"ask": "a2", "title": "x" * 1_000})
    first, second = await open_asks(program)
    assert first.title == "shell: ls rm -rf x"
    assert (len(second.title), second.title[-1]) == (limits.subject_chars_max, "…")


async def test_an_ask_that_the_tool_no_longer_waits_for_is_withdrawn(program: ProgramSession) -> None:
    await program.report_event("turn_started")
    await program.report_event("asked", **ASKED)
    (ask,) = await open_asks(program)
    await program.report_event("ask_gone", ask="a1")
    now = await program.world.store.read(lambda tx: tx.asks.get(ask.id))
    assert now.status is AskStatus.WITHDRAWN
    assert await program.status == "working"


async def test_a_permission_request_is_denied_if_the_person_withdraws_its_ask(program: ProgramSession) -> None:
    await program.report_event("asked", **ASKED)
    (ask,) = await open_asks(program)
    await program.world.do(asks.withdraw_ask, ask_ops.OneAsk(id=ask.id))
    now = await program.world.store.read(lambda tx: tx.asks.get(ask.id))
    assert reply_for_tool(now) == "deny"
    await program.answer_job.run_once()
    assert program.runner.requests[-1]["choice"] == "deny"


async def test_a_question_has_no_answer_if_the_person_withdraws_its_ask(program: ProgramSession) -> None:
    await program.report_event("asked", ask="q", what="question", title="Which?", text="", choices=["A", "B"])
    (ask,) = await open_asks(program)
    await program.world.do(asks.withdraw_ask, ask_ops.OneAsk(id=ask.id))
    await program.answer_job.run_once()
    assert program.runner.requests[-1]["choice"] == UNANSWERED


async def test_the_person_may_answer_a_question_with_a_text_outside_its_choices(program: ProgramSession) -> None:
    await program.report_event("asked", ask="q", what="question", title="Which?", text="", choices=["A", "B"])
    (ask,) = await open_asks(program)
    await program.world.do(asks.answer_ask, ask_ops.AnswerAsk(id=ask.id, answer="neither of them"))
    await program.answer_job.run_once()
    assert program.runner.requests[-1]["choice"] == "neither of them"


async def test_an_ask_belongs_to_the_only_task_of_the_session(world: World) -> None:
    first, second = await world.task(), await world.task()
    one_task = ProgramSession(world, await spoken_with(world, "one", task=[first.ref]))
    two_tasks = ProgramSession(world, await spoken_with(world, "two", task=[first.ref, second.ref]))
    for program in (one_task, two_tasks):
        await program.report_event("asked", **ASKED)
    assert [ask.task_id for ask in await open_asks(one_task)] == [first.id, None]


async def test_an_ask_without_a_title_gets_the_default_title(program: ProgramSession) -> None:
    await program.report_event("asked", **ASKED | {"title": " \n "})
    (ask,) = await open_asks(program)
    assert ask.title == "The agent asks for an answer."


async def test_the_end_of_an_unknown_ask_changes_nothing(program: ProgramSession) -> None:
    await program.report_event("asked", **ASKED)
    await program.report_event("ask_gone", ask="unknown")
    assert len(await open_asks(program)) == 1 and await program.status == "needs_input"


async def test_a_session_needs_input_until_its_last_ask_has_ended(program: ProgramSession) -> None:
    await program.report_event("turn_started")
    for name in ("a1", "a2"):
        await program.report_event("asked", **ASKED | {"ask": name})
    await program.report_event("ask_gone", ask="a1")
    assert await program.status == "needs_input"
    await program.report_event("ask_gone", ask="a2")
    assert await program.status == "working"


async def test_the_turn_continues_while_an_ask_of_the_agent_itself_is_open(program: ProgramSession) -> None:
    await program.report_event("turn_started")
    await program.world.do(asks.create_ask, ask_ops.CreateAsk(title="Which port?"), by=program.caller)
    await program.report_event("asked", **ASKED)
    await program.report_event("ask_gone", ask="a1")
    assert (await program.conversation()).turn == "working" and await program.status == "needs_input"
