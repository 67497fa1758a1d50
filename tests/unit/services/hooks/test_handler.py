"""The hook handler replies to hook events and applies their consequences, for every tool."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from maestro.core import errors, limits
from maestro.domain.asks import AskStatus
from maestro.domain.priorities import Priority
from maestro.domain.sessions import SessionStatus, StatusSource
from maestro.operations import asks as ask_ops
from maestro.services.asks import asks
from maestro.services.hooks.handler import HookHandler
from maestro.services.hooks.permission_hold import PermissionHolds
from maestro.services.hooks.self_wait import SelfWaits
from maestro.services.runners.runners import Runners
from maestro.tools.hook_dialect import EMPTY_REPLY, HookEvent, HookMoment, HookReply, ReplyKind, StartReason

World = Any


class Agent:
    """An agent whose hooks fire; each reply counts as delivered unless a test sets `is_out=False`."""

    def __init__(self, world: World, caller: Any, *, holds: bool = False) -> None:
        self.world = world
        self.caller = caller
        self.holding = PermissionHolds(world.store, world.hub)
        self.holds = holds
        self.restart()

    def restart(self) -> None:
        """Start another server: the state in memory is lost."""
        self.desk = HookHandler(
            self.world.store, self.holding, SelfWaits(Runners(Path())), may_hold=lambda session, spawn: self.holds
        )

    async def fires(self, moment: HookMoment, *, is_out: bool = True, **fields: Any) -> HookReply:
        happening = HookEvent(tool="claude", event="x", moment=moment, **fields)
        reply = await self.desk.answer_hook(self.caller, happening)
        await self.desk.settle_reply(self.caller, reply, is_delivered=is_out)
        return reply

    async def receipt(self, message: Any) -> tuple[str, str | None]:
        found = await self.world.store.read(lambda tx: tx.mail.get(message.id))
        (delivery,) = await self.world.store.read(lambda tx: tx.deliveries.of_message(found.seq))
        return delivery.status.value, delivery.via

    async def status(self) -> tuple[SessionStatus, StatusSource]:
        session = await self.world.session(self.caller)
        return session.status, session.status_source


@pytest.fixture
async def agent(world: World) -> Agent:
    return Agent(world, await world.join("claude"))


async def test_a_hook_event_without_consequences_writes_nothing(agent: Agent) -> None:
    await agent.fires(HookMoment.PROMPT)
    before = await agent.world.log()
    for moment in (HookMoment.BEFORE_TOOL, HookMoment.AFTER_TOOL, HookMoment.MODEL, HookMoment.PROMPT):
        assert await agent.fires(moment) is EMPTY_REPLY
    assert await agent.world.log() == before


async def test_hooks_of_a_caller_without_a_session_are_refused(agent: Agent) -> None:
    with pytest.raises(errors.NotPermitted):
        await agent.desk.answer_hook(agent.world.dana, HookEvent(tool="claude", event="x", moment=HookMoment.STOP))


async def test_each_hook_sets_the_status_of_the_session(agent: Agent) -> None:
    for moment, expected in (
        (HookMoment.STARTS, SessionStatus.IDLE),
        (HookMoment.PROMPT, SessionStatus.WORKING),
        (HookMoment.ASKS, SessionStatus.NEEDS_INPUT),
        (HookMoment.AFTER_TOOL, SessionStatus.WORKING),
        (HookMoment.WAITS, SessionStatus.NEEDS_INPUT),
        (HookMoment.BEFORE_TOOL, SessionStatus.WORKING),
        (HookMoment.STOP, SessionStatus.IDLE),
    ):
        await agent.fires(moment, summary="Bash: touch a1")
        assert await agent.status() == (expected, StatusSource.HOOK)
    await agent.fires(HookMoment.WAITS, needs_person=False)
    assert await agent.status() == (SessionStatus.IDLE, StatusSource.HOOK)


async def test_the_status_detail_names_the_requested_call(agent: Agent) -> None:
    await agent.fires(HookMoment.ASKS, summary="Bash: touch a1")
    signals = await agent.world.store.read(lambda tx: tx.sessions.signals_of(agent.caller.name))
    assert ("Bash: touch a1", None) in [(signal.detail, signal.until) for signal in signals]


async def test_the_working_status_is_renewed_before_it_expires(agent: Agent) -> None:
    await agent.fires(HookMoment.PROMPT)
    first = await agent.world.session(agent.caller)
    agent.world.clock.advance(limits.hook_status_seconds - 1)
    await agent.fires(HookMoment.AFTER_TOOL)
    assert (await agent.world.session(agent.caller)).status_until == first.status_until
    agent.world.clock.advance(2)
    await agent.fires(HookMoment.AFTER_TOOL)
    assert (await agent.world.session(agent.caller)).status_until > first.status_until


async def test_mail_is_shown_once_after_a_tool_call_and_is_read_when_the_model_was_asked(agent: Agent) -> None:
    sent = await agent.world.send(None, "claude", subject="News", message="Look here.")
    told = await agent.fires(HookMoment.AFTER_TOOL)
    assert told.kind is ReplyKind.CONTEXT and "Look here." in told.text
    assert await agent.receipt(sent) == ("delivered", "hook")
    assert await agent.fires(HookMoment.AFTER_TOOL) is EMPTY_REPLY, "the mail is shown once"
    assert await agent.fires(HookMoment.BEFORE_TOOL, reports_model_calls=True) is EMPTY_REPLY
    assert await agent.receipt(sent) == ("delivered", "hook"), "a tool call alone does not prove a model call"
    await agent.fires(HookMoment.MODEL)
    await agent.fires(HookMoment.BEFORE_TOOL, reports_model_calls=True)
    assert await agent.receipt(sent) == ("read", "hook")


@pytest.mark.parametrize("moment", [HookMoment.STOP, HookMoment.PROMPT])
async def test_a_stop_or_the_next_prompt_confirms_shown_mail(agent: Agent, moment: HookMoment) -> None:
    sent = await agent.world.send(None, "claude")
    await agent.fires(HookMoment.AFTER_TOOL)
    assert await agent.fires(moment) is EMPTY_REPLY
    assert await agent.receipt(sent) == ("read", "hook")


async def test_a_program_that_reports_no_model_calls_is_assumed_to_have_asked_the_model(agent: Agent) -> None:
    sent = await agent.world.send(None, "claude")
    await agent.fires(HookMoment.AFTER_TOOL)
    await agent.fires(HookMoment.BEFORE_TOOL, reports_model_calls=False)
    assert await agent.receipt(sent) == ("read", "assumed")


async def test_the_mail_of_an_undelivered_reply_is_shown_again(agent: Agent) -> None:
    sent = await agent.world.send(None, "claude")
    await agent.fires(HookMoment.AFTER_TOOL, is_out=False)
    assert await agent.receipt(sent) == ("sent", None)
    assert (await agent.fires(HookMoment.AFTER_TOOL)).kind is ReplyKind.CONTEXT


async def test_the_mail_of_a_reply_that_was_cancelled_during_the_write_is_shown_again(agent: Agent) -> None:
    read = await agent.world.send(None, "claude")
    await agent.fires(HookMoment.AFTER_TOOL)
    await agent.world.send(None, "claude", message="Look here.")
    prompt = HookEvent(tool="claude", event="x", moment=HookMoment.PROMPT)
    cut_off = asyncio.create_task(agent.desk.answer_hook(agent.caller, prompt))
    await asyncio.sleep(0)  # let the hook begin to write the status
    assert cut_off.cancel()
    await asyncio.gather(cut_off, return_exceptions=True)
    assert cut_off.cancelled()
    assert "Look here." in (await agent.fires(HookMoment.PROMPT)).text
    assert await agent.receipt(read) == ("read", "hook")


async def test_a_hook_during_the_settlement_of_a_reply_does_not_show_the_mail_again(agent: Agent) -> None:
    await agent.world.send(None, "claude")
    after = HookEvent(tool="claude", event="x", moment=HookMoment.AFTER_TOOL)
    told = await agent.desk.answer_hook(agent.caller, after)
    agent.desk.handle_turn_end(agent.caller.name)
    handing = asyncio.create_task(agent.desk.settle_reply(agent.caller, told, is_delivered=True))
    await asyncio.sleep(0)  # let the write of the delivery begin
    assert await agent.desk.answer_hook(agent.caller, after) is EMPTY_REPLY
    await handing
    assert await agent.desk.answer_hook(agent.caller, after) is EMPTY_REPLY


async def test_simultaneous_hooks_show_mail_once(agent: Agent) -> None:
    await agent.world.send(None, "claude")
    happening = HookEvent(tool="claude", event="x", moment=HookMoment.AFTER_TOOL)
    replies = await asyncio.gather(*(agent.desk.answer_hook(agent.caller, happening) for _ in range(3)))
    assert sorted(reply.kind.value for reply in replies) == ["context", "nothing", "nothing"]


async def test_another_server_continues_with_the_stored_state(agent: Agent) -> None:
    sent = await agent.world.send(None, "claude")
    await agent.fires(HookMoment.AFTER_TOOL)
    agent.restart()
    assert await agent.fires(HookMoment.AFTER_TOOL) is EMPTY_REPLY, "the new server does not show the mail again"
    await agent.fires(HookMoment.STOP)
    assert await agent.receipt(sent) == ("read", "hook"), "the new server knows the unconfirmed receipt"


@pytest.mark.parametrize("beginning", StartReason)
async def test_mail_in_a_lost_context_is_shown_again(agent: Agent, beginning: StartReason) -> None:
    await agent.world.send(None, "claude", message="Look here.")
    await agent.fires(HookMoment.AFTER_TOOL)
    await agent.fires(HookMoment.STARTS, start_reason=beginning)
    assert "Look here." in (await agent.fires(HookMoment.AFTER_TOOL)).text


async def test_the_beginning_of_long_mail_is_shown_once(agent: Agent) -> None:
    sent = await agent.world.send(None, "claude", message="x" * 15_000)
    told = await agent.fires(HookMoment.AFTER_TOOL)
    assert "(shortened;" in told.text and len(told.text) < 9_000
    await agent.fires(HookMoment.STOP)
    assert await agent.receipt(sent) == ("delivered", "hook"), "the reply did not contain the whole body"
    assert await agent.fires(HookMoment.AFTER_TOOL) is EMPTY_REPLY
    assert await agent.fires(HookMoment.STOP) is EMPTY_REPLY


async def test_critical_mail_refuses_the_next_tool_call_once(agent: Agent) -> None:
    await agent.world.send(None, "claude", subject="later")
    assert await agent.fires(HookMoment.BEFORE_TOOL) is EMPTY_REPLY, "other mail waits until the tool call is done"
    await agent.world.send(None, "claude", message="Stop it.", priority=Priority.CRITICAL)
    refused = await agent.fires(HookMoment.BEFORE_TOOL)
    assert refused.kind is ReplyKind.REFUSE and "Stop it." in refused.text and "later" not in refused.text
    assert await agent.fires(HookMoment.BEFORE_TOOL) is EMPTY_REPLY


async def test_critical_mail_refuses_the_tool_calls_of_a_subagent_without_showing_the_mail(agent: Agent) -> None:
    sent = await agent.world.send(None, "claude", message="Stop it.", priority=Priority.CRITICAL)
    for _ in range(2):
        refused = await agent.fires(HookMoment.BEFORE_TOOL, is_from_subagent=True)
        assert refused.kind is ReplyKind.REFUSE and "Stop it." not in refused.text
    for moment in (HookMoment.AFTER_TOOL, HookMoment.STOP, HookMoment.STARTS, HookMoment.PROMPT, HookMoment.ENDS):
        assert await agent.fires(moment, is_from_subagent=True) is EMPTY_REPLY
    assert await agent.receipt(sent) == ("sent", None)
    assert (await agent.fires(HookMoment.BEFORE_TOOL)).kind is ReplyKind.REFUSE


async def test_unread_mail_keeps_an_agent_from_stopping(agent: Agent) -> None:
    sent = await agent.world.send(None, "claude", message="One more thing.")
    told = await agent.fires(HookMoment.STOP)
    assert told.kind is ReplyKind.GO_ON and "One more thing." in told.text
    assert await agent.status() == (SessionStatus.WORKING, StatusSource.HOOK)
    assert await agent.fires(HookMoment.STOP) is EMPTY_REPLY
    assert await agent.receipt(sent) == ("read", "hook")


async def test_an_agent_may_stop_after_several_delayed_stops(agent: Agent) -> None:
    replies = []
    for _ in range(limits.hook_stops_in_a_row_max + 2):
        await agent.world.send(None, "claude")
        replies.append((await agent.fires(HookMoment.STOP)).kind)
    assert replies == [ReplyKind.GO_ON] * limits.hook_stops_in_a_row_max + [ReplyKind.NOTHING] * 2
    assert (await agent.fires(HookMoment.PROMPT)).kind is ReplyKind.CONTEXT, (
        "the next prompt shows the remaining mail"
    )
    await agent.world.send(None, "claude")
    assert (await agent.fires(HookMoment.STOP)).kind is ReplyKind.GO_ON


async def test_the_primer_is_shown_at_the_start_and_after_a_compaction(agent: Agent) -> None:
    started = await agent.fires(HookMoment.STARTS)
    assert started.kind is ReplyKind.CONTEXT and "You are claude" in started.text
    assert await agent.fires(HookMoment.PROMPT) is EMPTY_REPLY
    assert await agent.fires(HookMoment.COMPACTS) is EMPTY_REPLY
    await agent.world.send(None, "claude", message="Look here.")
    told = await agent.fires(HookMoment.AFTER_TOOL)
    assert "You are claude" in told.text and "Look here." in told.text
    assert await agent.fires(HookMoment.AFTER_TOOL) is EMPTY_REPLY
    assert "You are claude" in (await agent.fires(HookMoment.STARTS, start_reason=StartReason.COMPACTED)).text


async def test_a_session_that_was_started_by_hand_ends_with_its_program(agent: Agent) -> None:
    await agent.fires(HookMoment.ENDS, is_final=False)
    assert (await agent.world.session(agent.caller)).ended_at is None
    await agent.fires(HookMoment.ENDS)
    assert (await agent.world.session(agent.caller)).status is SessionStatus.STOPPED
    with pytest.raises(errors.NotAuthenticated):
        await agent.fires(HookMoment.PROMPT)


async def held(agent: Agent) -> tuple[asyncio.Task[HookReply], Any]:
    """Fire a permission request that the handler holds, and return the waiting task and the open ask."""
    task = asyncio.create_task(agent.fires(HookMoment.ASKS, summary="Bash: touch a1"))
    over = HookEvent(tool="claude", event="x", moment=HookMoment.STOP)
    async with asyncio.timeout(20):
        while not (found := agent.holding.outlived_asks(agent.caller, over)):  # noqa: ASYNC110
            await asyncio.sleep(0)
    return task, await agent.world.store.read(lambda tx: tx.asks.get(found[0]))


@pytest.mark.parametrize(("said", "kind"), [("allow", ReplyKind.ALLOW), ("deny", ReplyKind.DENY)])
async def test_a_held_call_gets_the_answer_of_the_person(agent: Agent, said: str, kind: ReplyKind) -> None:
    agent.holds = True
    task, ask = await held(agent)
    assert "Bash: touch a1" in ask.title and ask.choices == ["allow", "deny"]
    assert (await agent.status())[0] is SessionStatus.NEEDS_INPUT
    await agent.world.do(asks.answer_ask, ask_ops.AnswerAsk(id=ask.id, answer=said))
    assert (await task).kind is kind
    assert await agent.fires(HookMoment.AFTER_TOOL) is EMPTY_REPLY, "the answer is not also shown as mail"


async def ask_status(agent: Agent, ask: Any) -> AskStatus:
    found = await agent.world.store.read(lambda tx: tx.asks.get(ask.id))
    return found.status  # type: ignore[no-any-return]


async def test_the_ask_of_a_cancelled_hook_is_withdrawn(agent: Agent) -> None:
    agent.holds = True
    task, ask = await held(agent)
    assert await agent.status() == (SessionStatus.NEEDS_INPUT, StatusSource.HOOK)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert await ask_status(agent, ask) is AskStatus.WITHDRAWN


@pytest.mark.parametrize(
    ("moment", "asked", "expected"),
    [
        (HookMoment.AFTER_TOOL, "Bash: touch a1", AskStatus.WITHDRAWN),
        (HookMoment.AFTER_TOOL, "Bash: touch a2", AskStatus.OPEN),
        (HookMoment.STOP, "", AskStatus.WITHDRAWN),
    ],
)
async def test_an_ask_that_was_answered_in_the_programs_own_dialog_is_withdrawn(
    agent: Agent, moment: HookMoment, asked: str, expected: AskStatus
) -> None:
    agent.holds = True
    task, ask = await held(agent)
    await agent.fires(moment, summary=asked)
    assert await ask_status(agent, ask) is expected
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_a_finished_call_withdraws_the_ask_with_the_same_digest_and_not_with_the_same_text(
    agent: Agent,
) -> None:
    agent.holds = True
    alike = [
        asyncio.create_task(agent.fires(HookMoment.ASKS, summary="Bash: echo …", call_digest=digest))
        for digest in ("first", "second")
    ]
    over = HookEvent(tool="claude", event="x", moment=HookMoment.STOP)
    async with asyncio.timeout(20):
        while len(found := agent.holding.outlived_asks(agent.caller, over)) < 2:  # noqa: ASYNC110
            await asyncio.sleep(0)
    first, second = [await agent.world.store.read(lambda tx, ask=ask: tx.asks.get(ask)) for ask in found]
    await agent.fires(HookMoment.AFTER_TOOL, summary="Bash: echo …", call_digest="second")
    assert await ask_status(agent, first) is AskStatus.OPEN
    assert await ask_status(agent, second) is AskStatus.WITHDRAWN
    for task in alike:
        task.cancel()
    await asyncio.gather(*alike, return_exceptions=True)


async def test_a_held_call_gets_an_empty_reply_after_the_longest_hold_time(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "hook_hold_seconds_max", 0.05)
    agent.holds = True
    task, ask = await held(agent)
    assert await task is EMPTY_REPLY, "an expired hold never allows the call"
    assert await ask_status(agent, ask) is AskStatus.WITHDRAWN
