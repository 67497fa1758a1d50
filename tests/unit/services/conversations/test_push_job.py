"""The push job pushes mail and reminders to idle programs, and asks the programs of completed sessions to finish."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.services.conversations.conftest import ProgramSession, TerminalSession

from maestro.core import limits
from maestro.domain.documents import ReportKind
from maestro.operations import sessions as session_ops
from maestro.services.tasks import session_report as session_reports
from maestro.tools.hook_dialect import EMPTY_REPLY, HookMoment


async def push_now(program: ProgramSession) -> list[dict[str, Any]]:
    await program.push_job.run_once()
    found: list[dict[str, Any]] = program.runner.prompts()
    return found


async def test_mail_is_pushed_once_and_is_read_when_the_model_has_the_push(program: ProgramSession) -> None:
    await program.become_idle()
    sent = await program.world.send(None, "w", message="a </message> b")
    (push,) = await push_now(program)
    assert "a &lt;/message&gt; b" in push["text"]
    assert push["only_after"] == 3
    assert await program.world.states(sent) == {program.caller.name: "delivered"}
    assert len(await push_now(program)) == 1
    await program.report_event("turn_started")
    await program.report_event("taken_in", prompt=push["id"])
    assert await program.world.states(sent) == {program.caller.name: "read"}
    await program.report_event("turn_ended")
    assert len(await push_now(program)) == 1


async def test_busy_programs_and_programs_without_mail_get_no_push(program: ProgramSession) -> None:
    await program.become_idle()
    assert await push_now(program) == []
    await program.report_event("turn_started")
    await program.world.send(None, "w")
    assert await push_now(program) == []
    await program.report_event("turn_ended")
    assert len(await push_now(program)) == 1


async def test_mail_that_was_read_before_the_push_is_not_pushed(program: ProgramSession) -> None:
    await program.become_idle()
    await program.world.send(None, "w")
    await program.world.read(program.caller)
    assert await push_now(program) == []


async def test_new_mail_does_not_wait_for_a_push_whose_mail_was_read(program: ProgramSession) -> None:
    await program.become_idle()
    await program.world.send(None, "w")
    assert len(await push_now(program)) == 1
    await program.world.read(program.caller)
    await program.world.send(None, "w", message="Second.")
    (_, second) = await push_now(program)
    assert "Second." in second["text"]


async def test_a_program_that_became_busy_gets_the_push_when_it_is_idle_again(program: ProgramSession) -> None:
    await program.become_idle()
    sent = await program.world.send(None, "w")
    program.runner.state = "busy"
    await push_now(program)
    assert await program.world.states(sent) == {program.caller.name: "sent"}
    program.runner.state = "said"
    assert len(await push_now(program)) == 2
    assert await program.world.states(sent) == {program.caller.name: "delivered"}


async def test_a_push_stays_pending_if_the_program_is_busy_at_the_next_push(program: ProgramSession) -> None:
    await program.become_idle()
    sent = await program.world.send(None, "w")
    (push,) = await push_now(program)
    await program.world.send(None, "w")  # the next push contains more mail
    program.world.clock.advance(limits.push_confirm_seconds + 1)
    program.runner.state = "busy"  # the program has begun a turn that the server does not know yet
    assert len(await push_now(program)) == 2
    await program.report_event("turn_started")
    await program.report_event("taken_in", prompt=push["id"])
    assert await program.world.states(sent) == {program.caller.name: "read"}


@pytest.mark.parametrize("state", ["busy", "said"])
async def test_the_confirmation_of_an_earlier_push_of_the_same_mail_marks_the_mail_as_read(
    program: ProgramSession, state: str
) -> None:
    await program.become_idle()
    sent = await program.world.send(None, "w")
    (push,) = await push_now(program)
    program.world.clock.advance(limits.push_confirm_seconds + 1)
    program.runner.state = state
    assert len(await push_now(program)) == 2
    await program.report_event("turn_started")
    await program.report_event("taken_in", prompt=push["id"])
    assert await program.world.states(sent) == {program.caller.name: "read"}
    await program.report_event("turn_ended")
    program.world.clock.advance(limits.push_confirm_seconds + 1)
    assert len(await push_now(program)) == 2


async def test_an_unconfirmed_push_is_repeated_and_then_reported(program: ProgramSession) -> None:
    await program.become_idle()
    await program.world.send(None, "w")
    for tries in range(1, limits.push_attempts_max + 1):
        assert len(await push_now(program)) == tries
        program.world.clock.advance(limits.push_confirm_seconds + 1)
    ids = {one["id"] for one in await push_now(program)}
    assert len(ids) == limits.push_attempts_max
    boss = await program.world.caller((await program.world.session(program.caller)).parent_id)
    assert "w does not receive pushes" in await program.world.subjects(boss)
    program.world.clock.advance(limits.push_confirm_seconds + 1)
    assert len(await push_now(program)) == limits.push_attempts_max


async def test_mail_that_is_too_long_stays_unread_and_is_not_pushed_again(program: ProgramSession) -> None:
    await program.become_idle()
    sent = await program.world.send(None, "w", message="x" * (limits.inbox_body_chars_max + 1))
    (push,) = await push_now(program)
    assert 'cut="yes"' in push["text"]
    await program.report_event("turn_started")
    await program.report_event("taken_in", prompt=push["id"])
    await program.report_event("turn_ended")
    assert await program.world.states(sent) == {program.caller.name: "delivered"}
    assert len(await push_now(program)) == 1


async def test_mail_to_the_whole_project_is_not_pushed(program: ProgramSession) -> None:
    await program.become_idle()
    await program.world.send(None, "project:vc")
    assert await push_now(program) == []


async def test_a_session_that_stops_without_a_report_is_reminded_once_and_then_reported(
    program: ProgramSession,
) -> None:
    task = await program.world.task(held_by=program.caller)
    await program.become_idle()
    (push,) = await push_now(program)
    assert f"still hold vc#{task.number}" in push["text"]
    await program.report_event("turn_started")
    await program.report_event("taken_in", prompt=push["id"])
    await program.report_event("turn_ended")
    assert len(await push_now(program)) == 1
    boss = await program.world.caller((await program.world.session(program.caller)).parent_id)
    assert "w has stopped without a report" in await program.world.subjects(boss)


async def test_the_program_of_a_session_that_reported_its_completion_is_asked_to_finish(
    program: ProgramSession,
) -> None:
    await program.report_event("turn_started")
    said = session_ops.ReportSession(kind=ReportKind.COMPLETE, text="done")
    await program.world.do(session_reports.report_work, said, by=program.caller)
    await program.push_job.run_once()
    assert program.runner.requests == [], "the turn has not ended yet"
    await program.report_event("turn_ended")
    due = await program.push_job.run_once()
    assert program.runner.requests == [{"do": "finish"}]
    assert due is not None, "the job repeats the request, because the person may keep the program open"
    program.runner.is_away = True
    assert await program.push_job.run_once() is None


async def test_mail_is_pushed_once_to_a_program_in_a_terminal(terminal: TerminalSession) -> None:
    await terminal.finish_first_turn()
    sent = await terminal.world.send(None, "w", message="Look here.")
    (pushed,) = await terminal.push_mail()
    assert "Look here." in pushed["text"]
    assert await terminal.delivery_state(sent) == "delivered"
    assert await terminal.fire(HookMoment.PROMPT, prompt=pushed["text"]) is EMPTY_REPLY, (
        "the hook does not show the pushed mail again"
    )
    assert await terminal.delivery_state(sent) == "delivered", "the model has not been asked yet"
    await terminal.fire(HookMoment.STOP)
    assert await terminal.delivery_state(sent) == "read"
    assert len(await terminal.push_mail()) == 1


async def test_a_push_without_an_answer_of_the_runner_is_not_repeated_at_once(terminal: TerminalSession) -> None:
    await terminal.finish_first_turn()
    await terminal.world.send(None, "w", message="Look here.")
    terminal.program.runner.is_away = True
    await terminal.push_mail()
    terminal.program.runner.is_away = False
    assert await terminal.push_mail() == []
    terminal.world.clock.advance(limits.push_confirm_seconds + 1)
    assert len(await terminal.push_mail()) == 1
