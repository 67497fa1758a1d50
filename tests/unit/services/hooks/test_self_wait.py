"""A model that waits for mail by a command gets announcements, and hooks ask the person about its tool calls."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.unit.services.conversations.conftest import ProgramSession, TerminalSession

from maestro.core import errors, limits
from maestro.domain.conversations import TurnState
from maestro.domain.documents import ReportKind
from maestro.domain.priorities import Priority
from maestro.operations import asks as ask_ops
from maestro.operations import sessions as session_ops
from maestro.services.asks import asks
from maestro.services.supervision.control import ProgramControl
from maestro.services.tasks import session_report
from maestro.tools.hook_dialect import EMPTY_REPLY, HookMoment, ReplyKind, ToolScope


@pytest.fixture
def in_terminal(self_waiting: ProgramSession) -> ProgramSession:
    return self_waiting


async def test_a_push_only_announces_mail_and_the_hooks_show_the_mail(terminal: TerminalSession) -> None:
    await terminal.finish_first_turn()
    sent = await terminal.world.send(None, "w", message="Look\nhere.")
    (pushed,) = await terminal.push_mail()
    assert "Look" not in pushed["text"] and "\n" not in pushed["text"]
    told = await terminal.fire(HookMoment.PROMPT, prompt=f"<user_input>{pushed['text']}</user_input>")
    assert told.kind is ReplyKind.CONTEXT and "Look\nhere." in told.text
    await terminal.fire(HookMoment.STOP)
    assert await terminal.delivery_state(sent) == "read"
    terminal.world.clock.advance(limits.push_confirm_seconds + 1)
    assert len(await terminal.push_mail()) == 1


async def test_a_prompt_of_the_person_shows_the_mail_that_a_push_announced(terminal: TerminalSession) -> None:
    await terminal.finish_first_turn()
    sent = await terminal.world.send(None, "w", message="Look here.")
    await terminal.push_mail()
    told = await terminal.fire(HookMoment.PROMPT, prompt="The person typed this.")
    assert "Look here." in told.text
    await terminal.fire(HookMoment.STOP)
    assert await terminal.delivery_state(sent) == "read"


async def test_an_agent_that_stops_without_a_wait_command_is_instructed_once(terminal: TerminalSession) -> None:
    terminal.program.runner.listens = False
    await terminal.fire(HookMoment.PROMPT, prompt="Begin.")
    told = await terminal.fire(HookMoment.STOP)
    assert told.kind is ReplyKind.GO_ON and f"cat /home/dana/sessions/{terminal.caller.name}/in" in told.text
    assert await terminal.turn() is TurnState.WORKING
    await terminal.fire(HookMoment.PROMPT, prompt=told.text)  # the program continues with the reply
    assert await terminal.fire(HookMoment.STOP) is EMPTY_REPLY, "the agent gets the instruction once"
    assert await terminal.turn() is TurnState.IDLE
    await terminal.fire(HookMoment.PROMPT, prompt="Something else.")
    assert (await terminal.fire(HookMoment.STOP)).kind is ReplyKind.GO_ON
    terminal.program.runner.listens = True
    await terminal.fire(HookMoment.PROMPT, prompt=told.text)
    assert await terminal.fire(HookMoment.STOP) is EMPTY_REPLY


async def test_two_simultaneous_hooks_of_the_same_stop_show_mail_once(
    terminal: TerminalSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    await terminal.fire(HookMoment.PROMPT, prompt="Begin.")
    await terminal.world.send(None, "w", message="Look here.")
    ask = terminal.program.runner.send_request

    async def takes_time(*words: Any, **request: Any) -> Any:
        await asyncio.sleep(0.01)
        return await ask(*words, **request)

    monkeypatch.setattr(terminal.program.runner, "send_request", takes_time)
    told = await asyncio.gather(*(terminal.fire(HookMoment.STOP) for _ in range(2)))
    assert sum("Look here." in reply.text for reply in told) == 1


async def test_mail_is_shown_before_the_wait_instruction(terminal: TerminalSession) -> None:
    terminal.program.runner.listens = False
    await terminal.fire(HookMoment.PROMPT, prompt="Begin.")
    await terminal.world.send(None, "w", message="Look here.")
    told = await terminal.fire(HookMoment.STOP)
    assert "Look here." in told.text and "is_background" not in told.text
    await terminal.fire(HookMoment.PROMPT, prompt=told.text)
    assert "is_background" in (await terminal.fire(HookMoment.STOP)).text


async def test_a_prompt_to_an_agent_without_a_wait_command_is_reported(terminal: TerminalSession) -> None:
    await terminal.finish_first_turn()
    terminal.program.runner.state = "closed"
    for _ in range(2):
        with pytest.raises(errors.NotConfirmed, match="it waits"):
            await terminal.prompt("Are you there?")
    for tries in range(1, limits.push_attempts_max + 1):
        assert len(await terminal.push_mail()) == tries
        terminal.world.clock.advance(limits.push_confirm_seconds + 1)
    await terminal.push_mail()
    boss = await terminal.world.caller((await terminal.world.session(terminal.caller)).parent_id)
    assert "w does not receive pushes" in await terminal.world.subjects(boss)
    told = await terminal.fire(HookMoment.PROMPT, prompt="The person typed this.")
    assert told.text.count(">Are you there?<") == 2, "the hook shows both prompts"


async def test_calls_that_the_permission_level_allows_open_no_ask(terminal: TerminalSession) -> None:
    await terminal.fire(HookMoment.PROMPT)
    assert await terminal.call("tool:read_file", ToolScope.NOTHING) is EMPTY_REPLY
    assert await terminal.call("edit:a.py", ToolScope.A_FILE) is EMPTY_REPLY
    assert await terminal.call("shell:maestro whoami") is EMPTY_REPLY
    assert await terminal.call(f"shell:cat /home/dana/sessions/{terminal.caller.name}/in") is EMPTY_REPLY
    assert (await terminal.call("shell:make test")).kind is ReplyKind.ALLOW, (
        "the allow list of the session contains the call"
    )


async def test_a_wait_command_with_the_earlier_name_of_the_folder_needs_no_permission(
    terminal: TerminalSession,
) -> None:
    """An earlier version told the model to wait at `runs/`, which is a link to `sessions/` after an upgrade."""
    await terminal.fire(HookMoment.PROMPT)
    for folder in ("sessions", "runs"):
        assert await terminal.call(f"shell:cat /home/dana/{folder}/{terminal.caller.name}/in") is EMPTY_REPLY


@pytest.mark.parametrize(("answer", "expected"), [("allow", ReplyKind.ALLOW), ("deny", ReplyKind.DENY)])
async def test_a_call_above_the_permission_level_waits_for_the_answer_of_the_person(
    terminal: TerminalSession, answer: str, expected: ReplyKind
) -> None:
    await terminal.fire(HookMoment.PROMPT)
    calling = asyncio.create_task(terminal.call("shell:rm -r x"))
    ask = await terminal.next_ask()
    assert await terminal.turn() is TurnState.ASKING
    await terminal.world.do(asks.answer_ask, ask_ops.AnswerAsk(id=ask.id, answer=answer))
    assert (await calling).kind is expected
    assert await terminal.turn() is TurnState.WORKING


async def test_a_call_is_denied_if_the_person_withdraws_its_ask(terminal: TerminalSession) -> None:
    await terminal.fire(HookMoment.PROMPT)
    calling = asyncio.create_task(terminal.call("shell:rm -r x"))
    ask = await terminal.next_ask()
    await terminal.world.do(asks.withdraw_ask, ask_ops.OneAsk(id=ask.id))
    assert (await calling).kind is ReplyKind.DENY, "the program treats an empty reply as permission"


async def test_an_interrupt_denies_the_held_call_and_ends_the_turn(terminal: TerminalSession) -> None:
    await terminal.fire(HookMoment.PROMPT)
    calling = asyncio.create_task(terminal.call("shell:rm -r x"))
    await terminal.next_ask()
    through = ProgramControl(
        terminal.world.store, terminal.world.hub, terminal.program.runner, None, None, None, push_mail=None
    )  # type: ignore[arg-type]
    await through.interrupt_session(terminal.world.dana, session_ops.OneSession(id=terminal.caller.name))
    assert (await calling).kind is ReplyKind.DENY
    assert await terminal.turn() is TurnState.IDLE


async def test_a_session_that_reported_its_completion_needs_no_wait_command(terminal: TerminalSession) -> None:
    terminal.program.runner.listens = False
    await terminal.fire(HookMoment.PROMPT, prompt="Begin.")
    done = session_ops.ReportSession(kind=ReportKind.COMPLETE, text="Done.")
    await terminal.world.do(session_report.report_work, done, by=terminal.caller)
    assert await terminal.fire(HookMoment.STOP) is EMPTY_REPLY


async def test_critical_mail_refuses_a_call_before_the_person_is_asked(terminal: TerminalSession) -> None:
    await terminal.fire(HookMoment.PROMPT)
    await terminal.world.send(None, "w", message="Stop.", priority=Priority.CRITICAL)
    refused = await terminal.call("shell:rm -r x")
    assert refused.kind is ReplyKind.REFUSE and "Stop." in refused.text


async def test_shown_mail_is_read_when_the_model_calls_the_next_tool(terminal: TerminalSession) -> None:
    await terminal.fire(HookMoment.PROMPT)
    sent = await terminal.world.send(None, "w", message="Look here.")
    await terminal.fire(HookMoment.AFTER_TOOL)
    await terminal.fire(HookMoment.MODEL)
    calling = asyncio.create_task(terminal.call("shell:rm -r x"))
    ask = await terminal.next_ask()
    assert await terminal.delivery_state(sent) == "read", "the mail is read while the call is still held"
    await terminal.world.do(asks.answer_ask, ask_ops.AnswerAsk(id=ask.id, answer="deny"))
    await calling
