"""What follows from a moment in an agent's life, whatever its program calls it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from maestro.core import errors, limits
from maestro.domain.asks import Status as AskStatus
from maestro.domain.sessions import Source, Status
from maestro.domain.tasks import Priority
from maestro.operations import asks as ask_ops
from maestro.services import asks
from maestro.services.hooks.desk import Desk
from maestro.services.hooks.holding import Holding
from maestro.services.hooks.waiting import Waiting
from maestro.services.programs.runners import Runners
from maestro.tools.hooks.base import NOTHING, Beginning, Happening, Kind, Moment, Reply

World = Any


class Agent:
    """An agent whose hooks fire; what it is told comes out unless a test says otherwise."""

    def __init__(self, world: World, caller: Any, *, holds: bool = False) -> None:
        self.world = world
        self.caller = caller
        self.holding = Holding(world.store, world.hub)
        self.holds = holds
        self.restart()

    def restart(self) -> None:
        """The server starts anew: whatever it only remembered is gone."""
        self.desk = Desk(
            self.world.store, self.holding, Waiting(Runners(Path())), holds=lambda session, spawn: self.holds
        )

    async def fires(self, moment: Moment, *, is_out: bool = True, **fields: Any) -> Reply:
        happening = Happening(tool="claude", event="x", moment=moment, **fields)
        reply = await self.desk.happened(self.caller, happening)
        await self.desk.handed(self.caller, reply, is_out=is_out)
        return reply

    async def receipt(self, message: Any) -> tuple[str, str | None]:
        found = await self.world.store.read(lambda tx: tx.mail.get(message.id))
        (delivery,) = await self.world.store.read(lambda tx: tx.deliveries.of_message(found.seq))
        return delivery.status.value, delivery.via

    async def status(self) -> tuple[Status, Source]:
        session = await self.world.session(self.caller)
        return session.status, session.status_source


@pytest.fixture
async def agent(world: World) -> Agent:
    return Agent(world, await world.join("claude"))


async def test_a_hook_with_nothing_to_say_writes_nothing(agent: Agent) -> None:
    await agent.fires(Moment.PROMPT)
    before = await agent.world.log()
    for moment in (Moment.BEFORE_TOOL, Moment.AFTER_TOOL, Moment.MODEL, Moment.PROMPT):
        assert await agent.fires(moment) is NOTHING
    assert await agent.world.log() == before


async def test_who_is_no_session_has_no_hooks(agent: Agent) -> None:
    with pytest.raises(errors.NotPermitted):
        await agent.desk.happened(agent.world.dana, Happening(tool="claude", event="x", moment=Moment.STOP))


async def test_the_status_follows_the_hooks(agent: Agent) -> None:
    for moment, expected in (
        (Moment.STARTS, Status.IDLE),
        (Moment.PROMPT, Status.WORKING),
        (Moment.ASKS, Status.NEEDS_INPUT),
        (Moment.AFTER_TOOL, Status.WORKING),
        (Moment.WAITS, Status.NEEDS_INPUT),
        (Moment.BEFORE_TOOL, Status.WORKING),
        (Moment.STOP, Status.IDLE),
    ):
        await agent.fires(moment, asked="Bash: touch a1")
        assert await agent.status() == (expected, Source.HOOK)
    await agent.fires(Moment.WAITS, needs_person=False)
    assert await agent.status() == (Status.IDLE, Source.HOOK)


async def test_what_is_asked_for_is_told(agent: Agent) -> None:
    await agent.fires(Moment.ASKS, asked="Bash: touch a1")
    signals = await agent.world.store.read(lambda tx: tx.sessions.signals(agent.caller.name))
    assert ("Bash: touch a1", None) in [(signal.detail, signal.until) for signal in signals]


async def test_that_it_works_is_stored_anew_before_the_word_is_old(agent: Agent) -> None:
    await agent.fires(Moment.PROMPT)
    first = await agent.world.session(agent.caller)
    agent.world.clock.advance(limits.hook_status_seconds - 1)
    await agent.fires(Moment.AFTER_TOOL)
    assert (await agent.world.session(agent.caller)).status_until == first.status_until
    agent.world.clock.advance(2)
    await agent.fires(Moment.AFTER_TOOL)
    assert (await agent.world.session(agent.caller)).status_until > first.status_until


async def test_mail_comes_after_a_tool_once_and_is_read_when_the_model_was_asked(agent: Agent) -> None:
    sent = await agent.world.send(None, "claude", subject="News", message="Look here.")
    told = await agent.fires(Moment.AFTER_TOOL)
    assert told.kind is Kind.CONTEXT and "Look here." in told.text
    assert await agent.receipt(sent) == ("delivered", "hook")
    assert await agent.fires(Moment.AFTER_TOOL) is NOTHING, "it is shown once"
    assert await agent.fires(Moment.BEFORE_TOOL, tells_models=True) is NOTHING
    assert await agent.receipt(sent) == ("delivered", "hook"), "of two calls of one turn the second proves nothing"
    await agent.fires(Moment.MODEL)
    await agent.fires(Moment.BEFORE_TOOL, tells_models=True)
    assert await agent.receipt(sent) == ("read", "hook")


@pytest.mark.parametrize("moment", [Moment.STOP, Moment.PROMPT])
async def test_a_stop_or_the_next_prompt_confirms(agent: Agent, moment: Moment) -> None:
    sent = await agent.world.send(None, "claude")
    await agent.fires(Moment.AFTER_TOOL)
    assert await agent.fires(moment) is NOTHING
    assert await agent.receipt(sent) == ("read", "hook")


async def test_where_the_program_does_not_tell_of_its_model_it_is_assumed(agent: Agent) -> None:
    sent = await agent.world.send(None, "claude")
    await agent.fires(Moment.AFTER_TOOL)
    await agent.fires(Moment.BEFORE_TOOL, tells_models=False)
    assert await agent.receipt(sent) == ("read", "assumed")


async def test_an_answer_that_did_not_come_out_is_given_again(agent: Agent) -> None:
    sent = await agent.world.send(None, "claude")
    await agent.fires(Moment.AFTER_TOOL, is_out=False)
    assert await agent.receipt(sent) == ("sent", None)
    assert (await agent.fires(Moment.AFTER_TOOL)).kind is Kind.CONTEXT


async def test_an_answer_that_was_cut_off_while_it_was_written_down_is_given_again(agent: Agent) -> None:
    read = await agent.world.send(None, "claude")
    await agent.fires(Moment.AFTER_TOOL)
    await agent.world.send(None, "claude", message="Look here.")
    prompt = Happening(tool="claude", event="x", moment=Moment.PROMPT)
    cut_off = asyncio.create_task(agent.desk.happened(agent.caller, prompt))
    await asyncio.sleep(0)  # its status is being written
    assert cut_off.cancel()
    await asyncio.gather(cut_off, return_exceptions=True)
    assert cut_off.cancelled()
    assert "Look here." in (await agent.fires(Moment.PROMPT)).text
    assert await agent.receipt(read) == ("read", "hook")


async def test_mail_of_which_nobody_has_looked_up_what_was_shown_is_shown_once(agent: Agent) -> None:
    await agent.world.send(None, "claude")
    after = Happening(tool="claude", event="x", moment=Moment.AFTER_TOOL)
    told = await agent.desk.happened(agent.caller, after)
    agent.desk.turn_ended(agent.caller.name)
    handing = asyncio.create_task(agent.desk.handed(agent.caller, told, is_out=True))
    await asyncio.sleep(0)  # that it is out is being written
    assert await agent.desk.happened(agent.caller, after) is NOTHING
    await handing
    assert await agent.desk.happened(agent.caller, after) is NOTHING


async def test_two_hooks_at_once_show_mail_once(agent: Agent) -> None:
    await agent.world.send(None, "claude")
    happening = Happening(tool="claude", event="x", moment=Moment.AFTER_TOOL)
    replies = await asyncio.gather(*(agent.desk.happened(agent.caller, happening) for _ in range(3)))
    assert sorted(reply.kind.value for reply in replies) == ["context", "nothing", "nothing"]


async def test_another_server_goes_on_where_the_last_one_was(agent: Agent) -> None:
    sent = await agent.world.send(None, "claude")
    await agent.fires(Moment.AFTER_TOOL)
    agent.restart()
    assert await agent.fires(Moment.AFTER_TOOL) is NOTHING, "nothing twice"
    await agent.fires(Moment.STOP)
    assert await agent.receipt(sent) == ("read", "hook"), "nothing lost"


@pytest.mark.parametrize("beginning", Beginning)
async def test_what_a_lost_context_held_is_shown_again(agent: Agent, beginning: Beginning) -> None:
    await agent.world.send(None, "claude", message="Look here.")
    await agent.fires(Moment.AFTER_TOOL)
    await agent.fires(Moment.STARTS, beginning=beginning)
    assert "Look here." in (await agent.fires(Moment.AFTER_TOOL)).text


async def test_long_mail_is_begun_and_not_shown_twice(agent: Agent) -> None:
    sent = await agent.world.send(None, "claude", message="x" * 15_000)
    told = await agent.fires(Moment.AFTER_TOOL)
    assert "(shortened;" in told.text and len(told.text) < 9_000
    await agent.fires(Moment.STOP)
    assert await agent.receipt(sent) == ("delivered", "hook"), "its whole body did not come out"
    assert await agent.fires(Moment.AFTER_TOOL) is NOTHING
    assert await agent.fires(Moment.STOP) is NOTHING


async def test_critical_mail_refuses_the_next_tool_once(agent: Agent) -> None:
    await agent.world.send(None, "claude", subject="later")
    assert await agent.fires(Moment.BEFORE_TOOL) is NOTHING, "other mail waits until the tool is done"
    await agent.world.send(None, "claude", message="Stop it.", priority=Priority.CRITICAL)
    refused = await agent.fires(Moment.BEFORE_TOOL)
    assert refused.kind is Kind.REFUSE and "Stop it." in refused.text and "later" not in refused.text
    assert await agent.fires(Moment.BEFORE_TOOL) is NOTHING


async def test_an_agents_helper_is_sent_back_and_told_nothing_else(agent: Agent) -> None:
    sent = await agent.world.send(None, "claude", message="Stop it.", priority=Priority.CRITICAL)
    for _ in range(2):
        refused = await agent.fires(Moment.BEFORE_TOOL, is_aside=True)
        assert refused.kind is Kind.REFUSE and "Stop it." not in refused.text
    for moment in (Moment.AFTER_TOOL, Moment.STOP, Moment.STARTS, Moment.PROMPT, Moment.ENDS):
        assert await agent.fires(moment, is_aside=True) is NOTHING
    assert await agent.receipt(sent) == ("sent", None)
    assert (await agent.fires(Moment.BEFORE_TOOL)).kind is Kind.REFUSE


async def test_unread_mail_keeps_an_agent_from_stopping(agent: Agent) -> None:
    sent = await agent.world.send(None, "claude", message="One more thing.")
    told = await agent.fires(Moment.STOP)
    assert told.kind is Kind.GO_ON and "One more thing." in told.text
    assert await agent.status() == (Status.WORKING, Source.HOOK)
    assert await agent.fires(Moment.STOP) is NOTHING
    assert await agent.receipt(sent) == ("read", "hook")


async def test_an_agent_that_cannot_stop_is_let_go_in_the_end(agent: Agent) -> None:
    replies = []
    for _ in range(limits.hook_stops_in_a_row_max + 2):
        await agent.world.send(None, "claude")
        replies.append((await agent.fires(Moment.STOP)).kind)
    assert replies == [Kind.GO_ON] * limits.hook_stops_in_a_row_max + [Kind.NOTHING] * 2
    assert (await agent.fires(Moment.PROMPT)).kind is Kind.CONTEXT, "nothing is lost by it"
    await agent.world.send(None, "claude")
    assert (await agent.fires(Moment.STOP)).kind is Kind.GO_ON


async def test_the_primer_comes_at_the_start_and_after_compaction(agent: Agent) -> None:
    started = await agent.fires(Moment.STARTS)
    assert started.kind is Kind.CONTEXT and "You are claude" in started.text
    assert await agent.fires(Moment.PROMPT) is NOTHING
    assert await agent.fires(Moment.COMPACTS) is NOTHING
    await agent.world.send(None, "claude", message="Look here.")
    told = await agent.fires(Moment.AFTER_TOOL)
    assert "You are claude" in told.text and "Look here." in told.text
    assert await agent.fires(Moment.AFTER_TOOL) is NOTHING
    assert "You are claude" in (await agent.fires(Moment.STARTS, beginning=Beginning.COMPACTED)).text


async def test_an_agent_that_was_started_by_hand_ends_with_its_program(agent: Agent) -> None:
    await agent.fires(Moment.ENDS, is_final=False)
    assert (await agent.world.session(agent.caller)).ended_at is None
    await agent.fires(Moment.ENDS)
    assert (await agent.world.session(agent.caller)).status is Status.STOPPED
    with pytest.raises(errors.NotAuthenticated):
        await agent.fires(Moment.PROMPT)


async def held(agent: Agent) -> tuple[asyncio.Task[Reply], Any]:
    """A request that waits for the person."""
    task = asyncio.create_task(agent.fires(Moment.ASKS, asked="Bash: touch a1"))
    over = Happening(tool="claude", event="x", moment=Moment.STOP)
    async with asyncio.timeout(20):
        while not (found := agent.holding.outlived(agent.caller, over)):  # noqa: ASYNC110
            await asyncio.sleep(0)
    return task, await agent.world.store.read(lambda tx: tx.asks.get(found[0]))


@pytest.mark.parametrize(("said", "kind"), [("allow", Kind.ALLOW), ("deny", Kind.DENY)])
async def test_a_request_that_is_held_is_answered_by_the_person(agent: Agent, said: str, kind: Kind) -> None:
    agent.holds = True
    task, ask = await held(agent)
    assert "Bash: touch a1" in ask.title and ask.choices == ["allow", "deny"]
    assert (await agent.status())[0] is Status.NEEDS_INPUT
    await agent.world.do(asks.answer, ask_ops.AnswerAsk(id=ask.id, answer=said))
    assert (await task).kind is kind
    assert await agent.fires(Moment.AFTER_TOOL) is NOTHING, "the answer does not come a second time as mail"


async def ask_status(agent: Agent, ask: Any) -> AskStatus:
    found = await agent.world.store.read(lambda tx: tx.asks.get(ask.id))
    return found.status  # type: ignore[no-any-return]


async def test_who_goes_away_takes_its_request_back(agent: Agent) -> None:
    agent.holds = True
    task, ask = await held(agent)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert await ask_status(agent, ask) is AskStatus.WITHDRAWN


@pytest.mark.parametrize(
    ("moment", "asked", "expected"),
    [
        (Moment.AFTER_TOOL, "Bash: touch a1", AskStatus.WITHDRAWN),
        (Moment.AFTER_TOOL, "Bash: touch a2", AskStatus.OPEN),
        (Moment.STOP, "", AskStatus.WITHDRAWN),
    ],
)
async def test_who_was_answered_in_its_own_dialog_needs_no_answer_here(
    agent: Agent, moment: Moment, asked: str, expected: AskStatus
) -> None:
    agent.holds = True
    task, ask = await held(agent)
    await agent.fires(moment, asked=asked)
    assert await ask_status(agent, ask) is expected
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_a_request_is_not_held_for_ever(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "hook_hold_seconds_max", 0.05)
    agent.holds = True
    task, ask = await held(agent)
    assert await task is NOTHING, "and that is never to allow"
    assert await ask_status(agent, ask) is AskStatus.WITHDRAWN
