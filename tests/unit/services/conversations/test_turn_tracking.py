"""Hooks report the turns and the received texts of conversations in a terminal."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest
from tests.unit.services.conversations.conftest import TerminalSession

from maestro.core import limits
from maestro.domain.asks import AskKind, AskStatus
from maestro.domain.conversations import AskPolicy, StateReporter, TurnState
from maestro.domain.documents import ReportKind
from maestro.domain.members import Permission
from maestro.domain.sessions import SessionStatus, StatusSource
from maestro.operations import asks as ask_ops
from maestro.operations import sessions as session_ops
from maestro.services.asks import asks
from maestro.services.conversations import pending_pushes, turn_tracking
from maestro.services.tasks import session_report
from maestro.store.base import Tx
from maestro.tools.hook_dialect import EMPTY_REPLY, HookEvent, HookMoment, HookQuestion, HookReply, ReplyKind


async def test_hooks_report_the_turn(terminal: TerminalSession) -> None:
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
    assert (await terminal.program.conversation()).tool_conversation_id == "c1"
    session = await terminal.world.session(terminal.caller)
    assert (session.status, session.status_source) == (SessionStatus.IDLE, StatusSource.HOOK)


async def test_a_prompt_with_another_text_does_not_confirm_a_push(terminal: TerminalSession) -> None:
    await terminal.finish_first_turn()
    sent = await terminal.world.send(None, "w", message="Look here.")
    await terminal.push_mail()
    await terminal.fire(HookMoment.PROMPT, prompt="The person typed this.")
    await terminal.fire(HookMoment.STOP)
    assert await terminal.delivery_state(sent) == "delivered"
    terminal.world.clock.advance(limits.push_confirm_seconds + 1)
    assert len(await terminal.push_mail()) == 2, "the mail is pushed again"


async def test_a_text_that_only_contains_a_prompt_does_not_confirm_the_prompt(terminal: TerminalSession) -> None:
    await terminal.finish_first_turn()
    sent, _ = await terminal.prompt("go")
    await terminal.fire(HookMoment.PROMPT, prompt="I am good, and typed this myself.")
    await terminal.fire(HookMoment.STOP)
    assert await terminal.delivery_state(sent) == "delivered"


async def test_the_first_hook_of_any_kind_starts_the_conversation(
    terminal: TerminalSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = await terminal.world.send(None, "w", message="Keep the grammar.")
    monkeypatch.setattr(
        pending_pushes, "messages_of_first_prompt", lambda tx, session: [sent.id]
    )  # the first prompt contains the message
    await terminal.fire(HookMoment.BEFORE_TOOL, conversation="c1")
    assert (await terminal.program.conversation()).tool_conversation_id == "c1"
    await terminal.fire(HookMoment.MODEL)
    await terminal.fire(HookMoment.AFTER_TOOL)
    await terminal.fire(HookMoment.STOP)
    assert await terminal.delivery_state(sent) == "read"
    assert await terminal.push_mail() == []


async def test_a_call_in_the_allow_list_of_the_session_opens_no_ask_to_the_person(terminal: TerminalSession) -> None:
    await terminal.fire(HookMoment.PROMPT)
    assert (await terminal.fire(HookMoment.ASKS, summary="x", action="shell:make test")).kind is ReplyKind.ALLOW
    assert await terminal.world.store.read(lambda tx: tx.asks.list_open(after="", limit=9)) == []


@pytest.mark.parametrize("moment", [HookMoment.STOP, HookMoment.PROMPT])
async def test_an_ask_of_the_agent_itself_stays_open_after_the_turn(
    terminal: TerminalSession, moment: HookMoment
) -> None:
    await terminal.fire(HookMoment.PROMPT)
    request = ask_ops.CreateAsk(title="May I delete the branch?", kind=AskKind.PERMISSION)
    ask = await terminal.world.do(asks.create_ask, request, by=terminal.caller)
    await terminal.fire(moment)
    now = await terminal.world.store.read(lambda tx: tx.asks.get(ask.id))
    assert now.status is AskStatus.OPEN


async def test_the_end_of_the_turn_withdraws_the_asks_of_a_killed_server(terminal: TerminalSession) -> None:
    await terminal.fire(HookMoment.PROMPT)
    asking = asyncio.create_task(terminal.fire(HookMoment.ASKS, summary="Bash: rm x", action="shell:rm x"))
    ask = await terminal.next_ask()
    terminal.restart()
    await terminal.fire(HookMoment.STOP)
    now = await terminal.world.store.read(lambda tx: tx.asks.get(ask.id))
    assert now.status is AskStatus.WITHDRAWN
    await asyncio.gather(asking)


async def test_a_limit_parks_the_session_until_the_named_reset(terminal: TerminalSession) -> None:
    await terminal.finish_first_turn()
    await terminal.fire(HookMoment.PROMPT)
    problem = "You've hit your limit · resets 11pm (UTC)"
    await terminal.fire(HookMoment.FAILS, problem=problem, is_limited=True)
    conversation = await terminal.program.conversation()
    assert (conversation.turn, conversation.parked_until is not None) == (TurnState.IDLE, True)
    assert (conversation.parked_until.hour, conversation.parked_until.minute) == (23, 3)
    await terminal.fire(HookMoment.PROMPT)  # the program continues by itself
    assert (await terminal.program.conversation()).parked_until is None


async def test_a_program_that_continued_by_itself_is_not_told_to_continue(terminal: TerminalSession) -> None:
    await terminal.finish_first_turn()
    await terminal.fire(HookMoment.PROMPT)
    await terminal.fire(HookMoment.FAILS, problem="You've hit your limit · resets 11pm (UTC)", is_limited=True)
    await terminal.fire(HookMoment.WAITS, needs_person=False)
    assert (await terminal.program.conversation()).parked_until is not None, (
        "the event only says that the program still waits"
    )
    await terminal.fire(HookMoment.STOP)
    assert (await terminal.program.conversation()).parked_until is None
    terminal.world.clock.advance(24 * 3600)
    assert await terminal.push_mail() == []


async def test_a_reported_status_outlasts_the_end_of_the_turn(terminal: TerminalSession) -> None:
    await terminal.fire(HookMoment.PROMPT)
    said = session_ops.ReportSession(kind=ReportKind.COMPLETE, text="done")
    await terminal.world.do(session_report.report_work, said, by=terminal.caller)
    await terminal.fire(HookMoment.AFTER_TOOL)
    await terminal.fire(HookMoment.STOP)
    assert (await terminal.world.session(terminal.caller)).status is SessionStatus.COMPLETED
    await terminal.push_mail()
    assert {"do": "finish"} in terminal.program.runner.requests
    await terminal.fire(HookMoment.PROMPT)
    assert (await terminal.world.session(terminal.caller)).status is SessionStatus.WORKING


def make_event(moment: HookMoment, **fields: Any) -> HookEvent:
    return HookEvent(tool="claude", event="x", moment=moment, **fields)


@pytest.mark.parametrize(
    ("moment", "fields", "expected"),
    [
        (HookMoment.PROMPT, {}, True),
        (HookMoment.STOP, {}, True),
        (HookMoment.WAITS, {}, True),
        (HookMoment.MODEL, {}, False),
        (HookMoment.STARTS, {}, False),
        (HookMoment.STOP, {"is_from_subagent": True}, False),
    ],
)
def test_only_some_events_of_the_main_agent_report_a_turn(
    moment: HookMoment, fields: dict[str, Any], expected: bool
) -> None:
    assert turn_tracking.reports_turn(make_event(moment, **fields)) is expected


async def test_a_hook_writes_the_turn_if_the_turn_changes_and_at_a_boundary_of_the_turn(
    terminal: TerminalSession,
) -> None:
    await terminal.fire(HookMoment.PROMPT, prompt="Begin.")
    conversation = await terminal.program.conversation()

    def turn_after(moment: HookMoment, reply: HookReply = EMPTY_REPLY, **fields: Any) -> TurnState | None:
        return turn_tracking.turn_after(conversation, make_event(moment, **fields), reply)

    assert turn_after(HookMoment.BEFORE_TOOL) is None, "the turn runs already"
    assert turn_after(HookMoment.PROMPT) is TurnState.WORKING, "a boundary is always written"
    assert turn_after(HookMoment.STOP) is TurnState.IDLE
    assert turn_after(HookMoment.STOP, HookReply(ReplyKind.GO_ON, "x")) is TurnState.WORKING
    assert turn_after(HookMoment.WAITS, needs_person=True) is TurnState.ASKING
    assert turn_after(HookMoment.WAITS, needs_person=False) is TurnState.IDLE
    assert turn_after(HookMoment.STOP, is_from_subagent=True) is None
    assert turn_tracking.turn_after(None, make_event(HookMoment.STOP), EMPTY_REPLY) is None
    driven = msgspec.structs.replace(conversation, state_reporter=StateReporter.RUNNER)
    assert turn_tracking.turn_after(driven, make_event(HookMoment.STOP), EMPTY_REPLY) is None


async def test_the_policy_allows_denies_or_leaves_the_decision_to_the_person(terminal: TerminalSession) -> None:
    conversation = await terminal.program.conversation()
    spawn = await terminal.world.store.read(lambda tx: tx.spawns.get(terminal.caller.name))

    def reply(action: str, **changes: Any) -> ReplyKind | None:
        rest, permission = changes.get("rest", AskPolicy.ASK), changes.get("permission", Permission.EDIT)
        found = turn_tracking.policy_reply(
            msgspec.structs.replace(conversation, ask_policy=rest),
            msgspec.structs.replace(spawn, permission=permission),
            make_event(HookMoment.ASKS, action=action, question=changes.get("question")),
        )
        return found.kind if found else None

    assert reply("shell:make test") is ReplyKind.ALLOW
    assert reply("shell:rm x") is None
    assert reply("shell:rm x", rest=AskPolicy.DENY) is ReplyKind.DENY
    assert reply("shell:rm x", permission=Permission.FULL) is ReplyKind.ALLOW
    question = HookQuestion("Which?", "", ("A", "B"), {})
    assert reply("shell:make test", question=question) is None, "a question needs an answer"
    assert turn_tracking.policy_reply(None, spawn, make_event(HookMoment.ASKS, action="shell:make test")) is None


def test_deny_without_answer_denies_an_empty_reply_and_keeps_other_replies() -> None:
    assert turn_tracking.deny_without_answer(EMPTY_REPLY).kind is ReplyKind.DENY
    allowed = HookReply(ReplyKind.ALLOW)
    assert turn_tracking.deny_without_answer(allowed) is allowed


async def test_the_end_of_an_ask_sets_only_an_asking_turn_to_working(terminal: TerminalSession) -> None:
    async def end_asking(turn: TurnState) -> TurnState:
        def write(tx: Tx) -> None:
            tx.conversations.set_turn(terminal.caller.name, turn, at=tx.at)
            turn_tracking.end_asking(tx, terminal.caller.name)

        await terminal.world.store.write(write)
        return await terminal.turn()

    assert await end_asking(TurnState.ASKING) is TurnState.WORKING
    assert await end_asking(TurnState.IDLE) is TurnState.IDLE
    await terminal.world.store.write(lambda tx: turn_tracking.end_asking(tx, "ses_unknown"))
