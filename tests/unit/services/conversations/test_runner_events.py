"""Conversation events of runners change the turn, the status, the usage and the limits of a session, each once."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from tests.unit.services.conversations.conftest import ProgramSession

from maestro.core import limits
from maestro.domain.documents import ReportKind
from maestro.operations import sessions as session_ops
from maestro.services.tasks import session_report as session_reports

ASKED = {
    "ask": "a1",
    "what": "permission",
    "title": "Bash: git push",
    "text": "git push",
    "choices": ["allow", "deny"],
}


async def usage(program: ProgramSession) -> list[Any]:
    found: list[Any] = await program.world.store.read(
        lambda tx: tx.conversations.usage_of_session(program.caller.name, limit=10)
    )
    return found


async def opened(program: ProgramSession) -> list[Any]:
    found: list[Any] = await program.world.store.read(lambda tx: tx.asks.list_open(after="", limit=10))
    return found


async def test_turns_set_the_status_of_the_session(program: ProgramSession) -> None:
    await program.report_event("turn_started")
    assert await program.status == "working"
    await program.report_event("turn_ended")
    session = await program.world.session(program.caller)
    assert (session.status, session.status_source, session.status_until) == ("idle", "protocol", None)


async def test_a_repeated_event_is_applied_once(program: ProgramSession) -> None:
    ended = {"usage": {"input_tokens": 10, "output_tokens": 20, "cost_usd": 0.5}}
    await program.report_again("turn_ended", n=1, **ended)
    await program.report_again("turn_ended", n=1, **ended)
    (used,) = await usage(program)
    assert (used.turns, used.input_tokens, used.output_tokens, used.cost_usd) == (1, 10, 20, 0.5)
    await program.report_again("turn_ended", n=2, usage={"input_tokens": 1})
    (used,) = await usage(program)
    assert (used.turns, used.input_tokens, used.cost_usd) == (2, 11, 0.5)


async def test_the_usage_of_a_turn_counts_for_the_only_task_that_the_session_holds(program: ProgramSession) -> None:
    task = await program.world.task(held_by=program.caller)
    await program.report_event("turn_ended", usage={"output_tokens": 7})
    (used,) = await program.world.store.read(lambda tx: tx.conversations.usage_of_task(task.id, limit=10))
    assert (used.task_id, used.output_tokens, used.cost_usd) == (task.id, 7, None)


@pytest.mark.parametrize("kind", [ReportKind.COMPLETE, ReportKind.BLOCKED])
async def test_a_reported_status_outlasts_the_turn(program: ProgramSession, kind: ReportKind) -> None:
    await program.report_event("turn_started")
    said = session_ops.ReportSession(kind=kind, text="so it is")
    await program.world.do(session_reports.report_work, said, by=program.caller)
    before = await program.status
    await program.report_event("turn_ended")
    assert await program.status == before == {"complete": "completed", "blocked": "needs_input"}[kind]


async def test_the_id_of_the_tools_conversation_is_stored(program: ProgramSession) -> None:
    await program.report_event("began", conversation="abc")
    assert (await program.conversation()).tool_conversation_id == "abc"
    await program.report_event("began", conversation="")
    assert (await program.conversation()).tool_conversation_id is None


async def test_a_failed_turn_is_reported_to_the_coordinator(program: ProgramSession) -> None:
    await program.report_event("turn_ended", problem="API Error: 500")
    boss = await program.world.caller((await program.world.session(program.caller)).parent_id)
    assert "w could not go on" in await program.world.subjects(boss)


async def test_a_message_is_read_when_the_runner_reports_that_the_model_received_its_push(
    program: ProgramSession,
) -> None:
    sent = await program.world.send(None, "w")
    await program.report_event("taken_in", prompt=sent.id)
    assert await program.world.states(sent) == {program.caller.name: "read"}
    await program.report_event("taken_in", prompt="nothing that we know")


async def test_a_rate_limit_parks_the_session_and_the_end_of_the_limit_is_pushed_once(
    program: ProgramSession,
) -> None:
    await program.report_event("turn_started")
    until = program.world.clock.now() + timedelta(seconds=30)
    await program.report_event("rate_limited", until=until.timestamp(), detail="Too much.")
    await program.report_event("turn_ended", problem="Too much.")
    assert (await program.conversation()).parked_until == until
    assert await program.push_job.run_once() == until
    assert program.runner.prompts() == []
    program.world.clock.advance(31)
    await program.push_job.run_once()
    (push,) = program.runner.prompts()
    assert "limit is over" in push["text"]
    await program.push_job.run_once()
    assert len(program.runner.prompts()) == 1


async def test_a_rate_limit_with_a_missing_or_distant_end_gets_the_default_end(program: ProgramSession) -> None:
    usual = program.world.clock.now() + timedelta(seconds=limits.parked_seconds_default)
    await program.report_event("rate_limited", until=None)
    assert abs(((await program.conversation()).parked_until - usual).total_seconds()) < 1
    await program.report_event("rate_limited", until=9e12)
    assert abs(((await program.conversation()).parked_until - usual).total_seconds()) < 1
