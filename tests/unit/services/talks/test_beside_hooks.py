"""Hooks of an agent that is also spoken with over its protocol: nothing is told twice, and nothing is lost between."""

from __future__ import annotations

from typing import Any

import pytest

from maestro.domain.tasks import Priority
from maestro.operations import spawning as ops
from maestro.services.hooks.desk import Desk
from maestro.services.hooks.holding import Holding
from maestro.services.hooks.waiting import Waiting
from maestro.services.programs import control
from maestro.services.talks import taking
from maestro.tools.hooks.base import NOTHING, Beginning, Happening, Kind, Moment, Reply

Talking = Any


class Hooks:
    """The hooks of one such agent."""

    def __init__(self, talking: Talking) -> None:
        self.talking, world = talking, talking.world
        self.desk = Desk(world.store, Holding(world.store, world.hub), Waiting(talking.runner))

    async def fire(self, moment: Moment, **fields: Any) -> Reply:
        happening = Happening(tool="claude", event="x", moment=moment, tells_models=True, **fields)
        reply = await self.desk.happened(self.talking.caller, happening)
        await self.desk.handed(self.talking.caller, reply, is_out=True)
        return reply

    async def end_turn(self, **how: Any) -> None:
        await self.talking.tell("turn_ended", **how)
        self.desk.turn_ended(self.talking.caller.name)

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
    for moment in (Moment.STARTS, Moment.PROMPT, Moment.BEFORE_TOOL, Moment.AFTER_TOOL, Moment.WAITS, Moment.STOP):
        assert await hooks.fire(moment) is NOTHING
    assert await hooks.talking.world.log() == before


async def test_its_protocol_asks(hooks: Hooks) -> None:
    assert await hooks.fire(Moment.ASKS, asked="Bash: git push") is NOTHING
    assert await hooks.talking.world.store.read(lambda tx: tx.asks.open(after="", limit=10)) == []


async def test_mail_that_a_hook_showed_is_pushed_by_no_wake(hooks: Hooks) -> None:
    sent = await hooks.talking.world.send(None, "w")
    assert (await hooks.fire(Moment.AFTER_TOOL)).kind is Kind.CONTEXT
    assert (await hooks.state(sent), await hooks.woken()) == ("delivered", 0)


@pytest.mark.parametrize("moment", [Moment.PROMPT, Moment.MODEL, Moment.AFTER_TOOL])
async def test_it_is_not_read_before_the_model_was_asked(hooks: Hooks, moment: Moment) -> None:
    sent = await hooks.talking.world.send(None, "w")
    await hooks.fire(Moment.AFTER_TOOL)
    await hooks.fire(moment)
    assert await hooks.state(sent) == "delivered"


async def test_a_turn_that_ends_well_has_read_it(hooks: Hooks) -> None:
    sent = await hooks.talking.world.send(None, "w")
    await hooks.fire(Moment.AFTER_TOOL)
    await hooks.end_turn()
    assert (await hooks.state(sent), await hooks.woken()) == ("read", 0)


@pytest.mark.parametrize("how", [{"interrupted": True}, {"problem": "The model is away."}])
async def test_of_another_end_nobody_knows_and_it_is_offered_again(hooks: Hooks, how: dict[str, Any]) -> None:
    sent = await hooks.talking.world.send(None, "w")
    await hooks.fire(Moment.AFTER_TOOL)
    await hooks.end_turn(**how)
    assert (await hooks.state(sent), await hooks.woken()) == ("delivered", 1)


async def test_what_a_program_that_died_was_shown_is_offered_again(hooks: Hooks) -> None:
    world, caller = hooks.talking.world, hooks.talking.caller
    await world.send(None, "w")
    await hooks.fire(Moment.AFTER_TOOL)
    session = await world.session(caller)
    await world.store.write(lambda tx: taking.over(tx, session))
    assert await world.store.read(lambda tx: tx.hooks.answers_of(caller.name)) == []
    await hooks.fire(Moment.STARTS, beginning=Beginning.RESUMED)
    assert (await hooks.fire(Moment.AFTER_TOOL)).kind is Kind.CONTEXT


async def test_what_is_pushed_by_a_wake_is_shown_by_no_hook(hooks: Hooks) -> None:
    await hooks.talking.world.send(None, "w", priority=Priority.CRITICAL)
    assert await hooks.woken() == 1
    for moment in (Moment.PROMPT, Moment.BEFORE_TOOL, Moment.AFTER_TOOL, Moment.STOP):
        assert await hooks.fire(moment) is NOTHING


async def test_a_live_prompt_is_shown_by_no_hook(hooks: Hooks) -> None:
    world, caller = hooks.talking.world, hooks.talking.caller
    asked = ops.PromptSession(id=caller.name, text="\nLook here.\nAnd there.")
    await world.do(control.prompt, asked, by=world.dana)
    for moment in (Moment.PROMPT, Moment.AFTER_TOOL, Moment.STOP):
        assert await hooks.fire(moment) is NOTHING
    await world.send(None, "w")
    assert "Look here" not in (await hooks.fire(Moment.AFTER_TOOL)).text


@pytest.mark.parametrize(
    ("beginning", "is_told"),
    [(Beginning.NEW, False), (Beginning.RESUMED, False), (Beginning.COMPACTED, True), (Beginning.CLEARED, True)],
)
async def test_it_is_told_who_it_is_when_it_has_forgotten(hooks: Hooks, beginning: Beginning, is_told: bool) -> None:
    assert bool((await hooks.fire(Moment.STARTS, beginning=beginning)).text) is is_told
