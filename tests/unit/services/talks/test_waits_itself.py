"""Agents in a terminal whose model has to wait for mail with a command of its own, and whose program asks nobody."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from maestro import errors, limits
from maestro.agents.hooks.base import NOTHING, Happening, Kind, Moment, Reply, Touch
from maestro.domain.asks import Ask
from maestro.domain.documents import ReportKind
from maestro.domain.talks import Turn
from maestro.domain.tasks import Priority
from maestro.operations import asks as ask_ops
from maestro.operations import sessions as session_ops
from maestro.operations import spawning as ops
from maestro.services import asks
from maestro.services.hooks.desk import Desk
from maestro.services.hooks.holding import Holding
from maestro.services.hooks.waiting import Waiting
from maestro.services.programs import control
from maestro.services.programs.control import Control
from maestro.services.sessions import reporting

Talking = Any


class Terminal:
    """One such agent."""

    def __init__(self, talking: Talking) -> None:
        self.talking, self.world, self.caller = talking, talking.world, talking.caller
        self.desk = Desk(self.world.store, Holding(self.world.store, self.world.hub), Waiting(talking.runner))

    async def fire(self, moment: Moment, **fields: Any) -> Reply:
        self.world.clock.advance(0.01)
        happening = Happening(tool="gemini", event="x", moment=moment, tells_models=True, **fields)
        reply = await self.desk.happened(self.caller, happening)
        await self.desk.handed(self.caller, reply, is_out=True)
        if moment is Moment.STOP and reply.kind is not Kind.GO_ON:
            self.desk.turn_ended(self.caller.name)  # as the server does after the commit
        return reply

    async def call(self, action: str, touch: Touch = Touch.ANYTHING) -> Reply:
        """What becomes of a tool call that it is about to make."""
        return await self.fire(Moment.BEFORE_TOOL, is_gate=True, action=action, asked=action, touch=touch)

    async def at_rest(self) -> None:
        await self.fire(Moment.PROMPT, prompt="Begin.", conversation="c1")
        await self.fire(Moment.STOP)

    async def wake(self) -> list[dict[str, Any]]:
        await self.talking.waking.run_once()
        pushed: list[dict[str, Any]] = self.talking.runner.prompts()
        return pushed

    async def prompt(self, text: str) -> Any:
        request = ops.PromptSession(id=self.caller.name, text=text)
        sent = await self.world.do(control.prompt, request)
        waking = self.talking.waking
        through = Control(
            self.world.store, self.world.hub, None, None, None, waking._saying, wake=waking.wake  # type: ignore[arg-type]
        )  # fmt: skip
        return await through.push(self.world.dana, request, sent)

    async def turn(self) -> Turn:
        found: Turn = (await self.talking.talk()).turn
        return found

    async def state(self, sent: Any) -> str:
        return str((await self.world.states(sent))[self.caller.name])

    async def asked(self) -> Ask:
        for _ in range(1_000):
            found = await self.world.store.read(lambda tx: tx.asks.open_of_session(self.caller.name, limit=9))
            if found:
                (ask,) = found
                return ask
            await asyncio.sleep(0.001)
        raise AssertionError("nothing was asked")


@pytest.fixture
def terminal(waits_itself: Talking) -> Terminal:
    return Terminal(waits_itself)


async def test_it_is_told_that_there_is_mail_and_its_hooks_show_it(terminal: Terminal) -> None:
    await terminal.at_rest()
    sent = await terminal.world.send(None, "w", message="Look\nhere.")
    (pushed,) = await terminal.wake()
    assert "Look" not in pushed["text"] and "\n" not in pushed["text"]
    told = await terminal.fire(Moment.PROMPT, prompt=f"<user_input>{pushed['text']}</user_input>")
    assert told.kind is Kind.CONTEXT and "Look\nhere." in told.text
    await terminal.fire(Moment.STOP)
    assert await terminal.state(sent) == "read"
    terminal.world.clock.advance(limits.wake_confirm_seconds + 1)
    assert len(await terminal.wake()) == 1


async def test_a_knock_that_comes_in_the_middle_of_a_turn_loses_nothing(terminal: Terminal) -> None:
    await terminal.at_rest()
    sent = await terminal.world.send(None, "w", message="Look here.")
    await terminal.wake()
    told = await terminal.fire(Moment.PROMPT, prompt="The person typed this.")
    assert "Look here." in told.text
    await terminal.fire(Moment.STOP)
    assert await terminal.state(sent) == "read"


async def test_one_that_stops_without_waiting_is_told_once(terminal: Terminal) -> None:
    terminal.talking.runner.listens = False
    await terminal.fire(Moment.PROMPT, prompt="Begin.")
    told = await terminal.fire(Moment.STOP)
    assert told.kind is Kind.GO_ON and f"cat /home/dana/runs/{terminal.caller.name}/in" in told.text
    assert await terminal.turn() is Turn.WORKING
    await terminal.fire(Moment.PROMPT, prompt=told.text)  # so its program goes on
    assert await terminal.fire(Moment.STOP) is NOTHING, "it is let go"
    assert await terminal.turn() is Turn.IDLE
    await terminal.fire(Moment.PROMPT, prompt="Something else.")
    assert (await terminal.fire(Moment.STOP)).kind is Kind.GO_ON
    terminal.talking.runner.listens = True
    await terminal.fire(Moment.PROMPT, prompt=told.text)
    assert await terminal.fire(Moment.STOP) is NOTHING


async def test_mail_comes_before_that_it_must_wait(terminal: Terminal) -> None:
    terminal.talking.runner.listens = False
    await terminal.fire(Moment.PROMPT, prompt="Begin.")
    await terminal.world.send(None, "w", message="Look here.")
    told = await terminal.fire(Moment.STOP)
    assert "Look here." in told.text and "is_background" not in told.text
    await terminal.fire(Moment.PROMPT, prompt=told.text)
    assert "is_background" in (await terminal.fire(Moment.STOP)).text


async def test_who_prompts_one_that_does_not_wait_is_told_and_then_the_coordinator(terminal: Terminal) -> None:
    await terminal.at_rest()
    terminal.talking.runner.state = "closed"
    for _ in range(2):
        with pytest.raises(errors.NotConfirmed, match="it waits"):
            await terminal.prompt("Are you there?")
    for tries in range(1, limits.wake_tries_max + 1):
        assert len(await terminal.wake()) == tries
        terminal.world.clock.advance(limits.wake_confirm_seconds + 1)
    await terminal.wake()
    boss = await terminal.world.caller((await terminal.world.session(terminal.caller)).parent_id)
    assert "w does not wake up" in await terminal.world.subjects(boss)
    told = await terminal.fire(Moment.PROMPT, prompt="The person typed this.")
    assert told.text.count(">Are you there?<") == 2, "it is not lost"


async def test_what_its_level_leaves_free_is_not_asked_for(terminal: Terminal) -> None:
    await terminal.fire(Moment.PROMPT)
    assert await terminal.call("tool:read_file", Touch.NOTHING) is NOTHING
    assert await terminal.call("edit:a.py", Touch.A_FILE) is NOTHING
    assert await terminal.call("shell:maestro whoami") is NOTHING
    assert await terminal.call(f"shell:cat /home/dana/runs/{terminal.caller.name}/in") is NOTHING
    assert (await terminal.call("shell:make test")).kind is Kind.ALLOW, "its run's policy allows it"


@pytest.mark.parametrize(("answer", "expected"), [("allow", Kind.ALLOW), ("deny", Kind.DENY)])
async def test_all_else_waits_for_the_person(terminal: Terminal, answer: str, expected: Kind) -> None:
    await terminal.fire(Moment.PROMPT)
    calling = asyncio.create_task(terminal.call("shell:rm -r x"))
    ask = await terminal.asked()
    assert await terminal.turn() is Turn.ASKING
    await terminal.world.do(asks.answer, ask_ops.AnswerAsk(id=ask.id, answer=answer))
    assert (await calling).kind is expected
    assert await terminal.turn() is Turn.WORKING


async def test_what_is_put_aside_is_refused(terminal: Terminal) -> None:
    await terminal.fire(Moment.PROMPT)
    calling = asyncio.create_task(terminal.call("shell:rm -r x"))
    ask = await terminal.asked()
    await terminal.world.do(asks.withdraw, ask_ops.OneAsk(id=ask.id))
    assert (await calling).kind is Kind.DENY, "its program takes silence for consent"


async def test_an_interrupt_takes_back_what_was_asked(terminal: Terminal) -> None:
    await terminal.fire(Moment.PROMPT)
    calling = asyncio.create_task(terminal.call("shell:rm -r x"))
    await terminal.asked()
    through = Control(terminal.world.store, terminal.world.hub, terminal.talking.runner, None, None, None, wake=None)  # type: ignore[arg-type]
    await through.interrupt(terminal.world.dana, session_ops.OneSession(id=terminal.caller.name))
    assert (await calling).kind is Kind.DENY
    assert await terminal.turn() is Turn.IDLE


async def test_one_that_is_done_need_not_wait(terminal: Terminal) -> None:
    terminal.talking.runner.listens = False
    await terminal.fire(Moment.PROMPT, prompt="Begin.")
    report = session_ops.ReportSession(kind=ReportKind.COMPLETE, text="Done.")
    await terminal.world.do(reporting.report, report, by=terminal.caller)
    assert await terminal.fire(Moment.STOP) is NOTHING


async def test_critical_mail_refuses_a_call_before_anyone_is_asked(terminal: Terminal) -> None:
    await terminal.fire(Moment.PROMPT)
    await terminal.world.send(None, "w", message="Stop.", priority=Priority.CRITICAL)
    refused = await terminal.call("shell:rm -r x")
    assert refused.kind is Kind.REFUSE and "Stop." in refused.text


async def test_what_it_shows_is_read_once_the_model_calls_the_next_tool(terminal: Terminal) -> None:
    await terminal.fire(Moment.PROMPT)
    sent = await terminal.world.send(None, "w", message="Look here.")
    await terminal.fire(Moment.AFTER_TOOL)
    await terminal.fire(Moment.MODEL)
    calling = asyncio.create_task(terminal.call("shell:rm -r x"))
    ask = await terminal.asked()
    assert await terminal.state(sent) == "read", "also while that call is held"
    await terminal.world.do(asks.answer, ask_ops.AnswerAsk(id=ask.id, answer="deny"))
    await calling
