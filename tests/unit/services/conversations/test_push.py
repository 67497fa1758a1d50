"""A text is pushed to an idle program, and held or shown by a hook if the program is not idle."""

from __future__ import annotations

import asyncio

import pytest
from tests.unit.services.conversations.conftest import ProgramSession, TerminalSession

from maestro.core import errors
from maestro.domain.conversations import TurnState
from maestro.operations import asks as ask_ops
from maestro.services.asks import asks
from maestro.services.conversations.push import Pusher, PushResult
from maestro.tools.hook_dialect import HookMoment, ReplyKind


async def test_a_prompt_before_the_first_event_is_held_and_shown_with_the_first_prompt(
    terminal: TerminalSession,
) -> None:
    with pytest.raises(errors.NotConfirmed, match="has sent no event yet"):
        await terminal.prompt("Hurry up.")
    await terminal.fire(HookMoment.STARTS)
    shown = await terminal.fire(HookMoment.PROMPT, prompt="Begin.", conversation="c1")
    assert "Hurry up." in shown.text


async def test_a_prompt_to_a_busy_program_is_shown_by_the_hook_after_the_next_tool_call(
    terminal: TerminalSession,
) -> None:
    await terminal.fire(HookMoment.PROMPT)
    sent, _ = await terminal.prompt("Something new.")
    assert await terminal.push_mail() == []
    told = await terminal.fire(HookMoment.AFTER_TOOL)
    assert told.kind is ReplyKind.CONTEXT and "Something new." in told.text
    await terminal.fire(HookMoment.MODEL)
    await terminal.fire(HookMoment.BEFORE_TOOL)
    assert await terminal.delivery_state(sent) == "read"


async def test_a_prompt_to_an_idle_program_is_pushed_unchanged(terminal: TerminalSession) -> None:
    await terminal.finish_first_turn()
    sent, _ = await terminal.prompt('Say "hello".')
    (pushed,) = await terminal.push_mail()
    assert pushed["text"] == 'Say "hello".'
    await terminal.fire(HookMoment.PROMPT, prompt=pushed["text"])
    await terminal.fire(HookMoment.STOP)
    assert await terminal.delivery_state(sent) == "read"


async def test_a_prompt_during_an_ask_is_held_until_the_answer(terminal: TerminalSession) -> None:
    await terminal.fire(HookMoment.PROMPT)
    asking = asyncio.create_task(terminal.fire(HookMoment.ASKS, summary="Bash: rm -r x", action="shell:rm -r x"))
    ask = await terminal.next_ask()
    assert await terminal.turn() is TurnState.ASKING
    with pytest.raises(errors.NotConfirmed) as refused:
        await terminal.prompt("Hurry up.")
    await terminal.world.do(asks.answer_ask, ask_ops.AnswerAsk(id=ask.id, answer="allow"))
    assert (await asking).kind is ReplyKind.ALLOW
    assert await terminal.turn() is TurnState.WORKING
    told = await terminal.fire(HookMoment.AFTER_TOOL, summary="Bash: rm -r x")
    assert "Hurry up." in told.text
    assert refused.value.data["id"]


def make_pusher(program: ProgramSession) -> Pusher:
    return Pusher(program.world.store, program.runner)  # type: ignore[arg-type]


async def test_a_pushed_message_becomes_delivered_and_a_held_message_stays_sent(program: ProgramSession) -> None:
    world, pusher = program.world, make_pusher(program)
    sent = await world.send(None, "w", message="Look here.")
    assert await pusher.push_message(program.caller.name, sent.id) == ""
    (request,) = program.runner.prompts()
    assert request["id"] == sent.id and "Look here." in request["text"]
    assert await world.states(sent) == {program.caller.name: "delivered"}
    held = await world.send(None, "w", message="And there.")
    program.runner.state = "held"
    assert await pusher.push_message(program.caller.name, held.id) == "it waits"
    assert await world.states(held) == {program.caller.name: "sent"}


@pytest.mark.parametrize(
    ("state", "result"),
    [
        ("said", PushResult(True)),
        ("busy", PushResult(False)),
        ("closed", PushResult(False, "it waits")),
        ("held", PushResult(False)),
    ],
)
async def test_the_answer_of_the_runner_decides_the_result_of_a_push_to_an_idle_program(
    program: ProgramSession, state: str, result: PushResult
) -> None:
    program.runner.state = state
    pushed = await make_pusher(program).push_text_if_idle(program.caller.name, "p1", "Hello.", last_event=7)
    assert pushed == result
    assert program.runner.prompts() == [{"do": "prompt", "id": "p1", "text": "Hello.", "only_after": 7}]


async def test_a_runner_that_does_not_answer_leaves_the_push_unanswered(program: ProgramSession) -> None:
    program.runner.is_away = True
    pusher = make_pusher(program)
    assert await pusher.push_text_if_idle(program.caller.name, "p1", "Hello.", last_event=0) == PushResult(
        False, is_unanswered=True
    )
    with pytest.raises(errors.Conflict):
        await pusher.push_text(program.caller.name, "p1", "Hello.")


async def test_find_conversation_returns_none_for_a_session_without_a_conversation(program: ProgramSession) -> None:
    pusher, plain = make_pusher(program), await program.world.join("plain")
    assert await pusher.find_conversation(plain.name) is None
    found = await pusher.find_conversation(program.caller.name)
    assert found is not None and found.session_id == program.caller.name
