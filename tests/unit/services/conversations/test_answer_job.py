"""The answer job delivers the answer of an ask to the runner until the tool reports the end of the ask."""

from __future__ import annotations

from typing import Any

from tests.unit.services.conversations.conftest import ProgramSession

from maestro.operations import asks as ask_ops
from maestro.services.asks import asks

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


async def test_an_answer_is_repeated_until_the_runner_accepts_the_answer(program: ProgramSession) -> None:
    await program.report_event("asked", **ASKED)
    (ask,) = await open_asks(program)
    await program.world.do(asks.answer_ask, ask_ops.AnswerAsk(id=ask.id, answer="deny"))
    program.runner.is_away = True
    assert await program.answer_job.run_once() is not None
    program.runner.is_away = False
    assert await program.answer_job.run_once() is None
    assert program.runner.requests == [{"do": "answer", "ask": "a1", "choice": "deny"}]


async def test_an_open_ask_has_no_answer_to_deliver(program: ProgramSession) -> None:
    await program.report_event("asked", **ASKED)
    assert await program.answer_job.run_once() is None
    assert program.runner.requests == []


async def test_an_answer_is_repeated_until_the_tool_reports_the_end_of_the_ask(program: ProgramSession) -> None:
    await program.report_event("asked", **ASKED)
    (ask,) = await open_asks(program)
    await program.world.do(asks.answer_ask, ask_ops.AnswerAsk(id=ask.id, answer="allow"))
    for _ in range(2):
        await program.answer_job.run_once()
    assert len(program.runner.requests) == 2, "the job repeats the answer, and the runner ignores the repetition"
    await program.report_event("ask_gone", ask="a1")
    await program.answer_job.run_once()
    assert len(program.runner.requests) == 2


async def test_the_answer_job_forgets_an_ask_of_an_earlier_start_of_the_program(program: ProgramSession) -> None:
    world, caller = program.world, program.caller
    await program.report_event("asked", **ASKED)
    (ask,) = await open_asks(program)
    await world.do(asks.answer_ask, ask_ops.AnswerAsk(id=ask.id, answer="allow"))
    data = await world.store.read(lambda tx: tx.spawns.get_manifest(caller.name))
    await world.store.write(lambda tx: tx.spawns.reset_for_restart(caller.name, manifest=data))
    assert await program.answer_job.run_once() is None
    assert program.runner.requests == []
    assert await world.store.read(lambda tx: tx.conversations.get_ask(ask.id)) is None
