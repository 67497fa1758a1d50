"""Hooks of an agent that is also spoken with over its protocol: nothing is told twice, and nothing is lost between."""

from __future__ import annotations

from typing import Any

import pytest

from maestro.domain.tasks import Priority
from maestro.operations import spawning as ops
from maestro.services.conversations import runner_events
from maestro.services.hooks.handler import HookHandler
from maestro.services.hooks.permission_hold import PermissionHolds
from maestro.services.hooks.self_wait import SelfWaits
from maestro.services.supervision import control
from maestro.tools.hook_dialect import EMPTY_REPLY, HookEvent, HookMoment, HookReply, ReplyKind, StartReason

Talking = Any


class Hooks:
    """The hooks of one such agent."""

    def __init__(self, talking: Talking) -> None:
        self.talking, world = talking, talking.world
        self.desk = HookHandler(world.store, PermissionHolds(world.store, world.hub), SelfWaits(talking.runner))

    async def fire(self, moment: HookMoment, **fields: Any) -> HookReply:
        happening = HookEvent(tool="claude", event="x", moment=moment, reports_model_calls=True, **fields)
        reply = await self.desk.answer_hook(self.talking.caller, happening)
        await self.desk.settle_reply(self.talking.caller, reply, is_delivered=True)
        return reply

    async def end_turn(self, **how: Any) -> None:
        await self.talking.tell("turn_ended", **how)
        self.desk.handle_turn_end(self.talking.caller.name)

    async def woken(self) -> int:
        await self.talking.waking.run_once()
        return len(self.talking.runner.prompts())

    async def state(self, sent: Any) -> str:
        return str((await self.talking.world.states(sent))[self.talking.caller.name])


@pytest.fixture
async def hooks(talking: Talking) -> Hooks:
    await talking.idle()
    return Hooks(talking)


async def test_its_protocol_tells_its_status(hooks: Hooks) -> None:
    before = await hooks.talking.world.log()
    for moment in (
        HookMoment.STARTS,
        HookMoment.PROMPT,
        HookMoment.BEFORE_TOOL,
        HookMoment.AFTER_TOOL,
        HookMoment.WAITS,
        HookMoment.STOP,
    ):
        assert await hooks.fire(moment) is EMPTY_REPLY
    assert await hooks.talking.world.log() == before


async def test_its_protocol_asks(hooks: Hooks) -> None:
    assert await hooks.fire(HookMoment.ASKS, summary="Bash: git push") is EMPTY_REPLY
    assert await hooks.talking.world.store.read(lambda tx: tx.asks.list_open(after="", limit=10)) == []


async def test_mail_that_a_hook_showed_is_pushed_by_no_wake(hooks: Hooks) -> None:
    sent = await hooks.talking.world.send(None, "w")
    assert (await hooks.fire(HookMoment.AFTER_TOOL)).kind is ReplyKind.CONTEXT
    assert (await hooks.state(sent), await hooks.woken()) == ("delivered", 0)


@pytest.mark.parametrize("moment", [HookMoment.PROMPT, HookMoment.MODEL, HookMoment.AFTER_TOOL])
async def test_it_is_not_read_before_the_model_was_asked(hooks: Hooks, moment: HookMoment) -> None:
    sent = await hooks.talking.world.send(None, "w")
    await hooks.fire(HookMoment.AFTER_TOOL)
    await hooks.fire(moment)
    assert await hooks.state(sent) == "delivered"


async def test_a_turn_that_ends_well_has_read_it(hooks: Hooks) -> None:
    sent = await hooks.talking.world.send(None, "w")
    await hooks.fire(HookMoment.AFTER_TOOL)
    await hooks.end_turn()
    assert (await hooks.state(sent), await hooks.woken()) == ("read", 0)


@pytest.mark.parametrize("how", [{"interrupted": True}, {"problem": "The model is away."}])
async def test_of_another_end_nobody_knows_and_it_is_offered_again(hooks: Hooks, how: dict[str, Any]) -> None:
    sent = await hooks.talking.world.send(None, "w")
    await hooks.fire(HookMoment.AFTER_TOOL)
    await hooks.end_turn(**how)
    assert (await hooks.state(sent), await hooks.woken()) == ("delivered", 1)


async def test_what_a_program_that_died_was_shown_is_offered_again(hooks: Hooks) -> None:
    world, caller = hooks.talking.world, hooks.talking.caller
    await world.send(None, "w")
    await hooks.fire(HookMoment.AFTER_TOOL)
    session = await world.session(caller)
    await world.store.write(lambda tx: runner_events.end_conversation(tx, session))
    assert await world.store.read(lambda tx: tx.hooks.answers_of(caller.name)) == []
    await hooks.fire(HookMoment.STARTS, start_reason=StartReason.RESUMED)
    assert (await hooks.fire(HookMoment.AFTER_TOOL)).kind is ReplyKind.CONTEXT


async def test_what_is_pushed_by_a_wake_is_shown_by_no_hook(hooks: Hooks) -> None:
    await hooks.talking.world.send(None, "w", priority=Priority.CRITICAL)
    assert await hooks.woken() == 1
    for moment in (HookMoment.PROMPT, HookMoment.BEFORE_TOOL, HookMoment.AFTER_TOOL, HookMoment.STOP):
        assert await hooks.fire(moment) is EMPTY_REPLY


async def test_a_live_prompt_is_shown_by_no_hook(hooks: Hooks) -> None:
    world, caller = hooks.talking.world, hooks.talking.caller
    asked = ops.PromptSession(id=caller.name, text="\nLook here.\nAnd there.")
    await world.do(control.send_prompt, asked, by=world.dana)
    for moment in (HookMoment.PROMPT, HookMoment.AFTER_TOOL, HookMoment.STOP):
        assert await hooks.fire(moment) is EMPTY_REPLY
    await world.send(None, "w")
    assert "Look here" not in (await hooks.fire(HookMoment.AFTER_TOOL)).text


@pytest.mark.parametrize(
    ("beginning", "is_told"),
    [
        (StartReason.NEW, False),
        (StartReason.RESUMED, False),
        (StartReason.COMPACTED, True),
        (StartReason.CLEARED, True),
    ],
)
async def test_it_is_told_who_it_is_when_it_has_forgotten(
    hooks: Hooks, beginning: StartReason, is_told: bool
) -> None:
    assert bool((await hooks.fire(HookMoment.STARTS, start_reason=beginning)).text) is is_told
