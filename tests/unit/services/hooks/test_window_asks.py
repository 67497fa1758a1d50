"""Asks of hand-started sessions: the dialog stays in the window, and Maestro shows the ask until the dialog is gone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from maestro.core import errors
from maestro.domain.asks import AskKind, AskStatus
from maestro.domain.sessions import SessionStatus
from maestro.operations import asks as ask_ops
from maestro.services.asks import asks
from maestro.services.hooks.handler import HookHandler
from maestro.services.hooks.permission_hold import PermissionHolds
from maestro.services.hooks.self_wait import SelfWaits
from maestro.services.runners.runners import Runners
from maestro.tools.hook_dialect import EMPTY_REPLY, HookEvent, HookMoment, HookReply

World = Any
ASKS_MAX = 3
TOUCH, OTHER = "Bash: touch made", "Bash: make test"


class Window:
    """A hand-started program of a tool whose hooks fire."""

    def __init__(self, world: World, caller: Any, tool: str) -> None:
        self.world = world
        self.caller = caller
        self.tool = tool
        holds = PermissionHolds(world.store, world.hub, may_ask=self.count_ask)
        self.handler = HookHandler(world.store, holds, SelfWaits(Runners(Path())))

    def count_ask(self, tx: Any, caller: Any) -> None:
        if tx.asks.count_open(caller.name) >= ASKS_MAX:
            raise errors.LimitReached("Too many asks.")

    async def fire(self, moment: HookMoment, summary: str = "", **fields: Any) -> HookReply:
        event = HookEvent(
            tool=self.tool,
            event="x",
            moment=moment,
            summary=summary,
            directory="/src/vc",
            transcript="/home/dana/record.jsonl",
            **fields,
        )
        return await self.handler.answer_hook(self.caller, event)

    async def open_asks(self) -> list[Any]:
        found: list[Any] = await self.world.store.read(lambda tx: tx.asks.open_of_session(self.caller.name, limit=9))
        return found


@pytest.fixture
async def codex(world: World) -> Window:
    return Window(world, await world.join("codex", tool="codex"), "codex")


@pytest.fixture
async def gemini(world: World) -> Window:
    return Window(world, await world.join("gemini", tool="gemini"), "gemini")


async def test_a_permission_request_opens_an_ask_in_the_window_and_does_not_hold_the_call(codex: Window) -> None:
    assert await codex.fire(HookMoment.ASKS, TOUCH, details='{"command": "touch made"}') is EMPTY_REPLY
    (ask,) = await codex.open_asks()
    assert (ask.kind, ask.title, ask.choices) == (AskKind.PERMISSION, TOUCH, [])
    assert ask.in_own_window and ask.text == '{"command": "touch made"}'
    assert (await codex.world.session(codex.caller)).status is SessionStatus.NEEDS_INPUT
    await codex.fire(HookMoment.ASKS, TOUCH)
    assert len(await codex.open_asks()) == 1, "a second hook for the same dialog"


async def test_an_ask_in_a_window_takes_no_answer_from_maestro(codex: Window) -> None:
    await codex.fire(HookMoment.PROMPT, prompt="Go on")  # reports the directory of the window
    await codex.fire(HookMoment.ASKS, TOUCH)
    (ask,) = await codex.open_asks()
    with pytest.raises(errors.Conflict, match="its own window") as refused:
        await codex.world.do(asks.answer_ask, ask_ops.AnswerAsk(id=ask.id, answer="allow"))
    assert "/src/vc" in refused.value.hint
    assert await codex.open_asks() == [ask]


@pytest.mark.parametrize("moment", [HookMoment.STOP, HookMoment.PROMPT, HookMoment.STARTS, HookMoment.FAILS])
async def test_an_event_after_the_dialog_withdraws_the_ask(codex: Window, moment: HookMoment) -> None:
    await codex.fire(HookMoment.ASKS, TOUCH)
    await codex.fire(moment)
    assert await codex.open_asks() == []


async def test_only_the_end_of_the_asked_call_withdraws_its_ask(codex: Window) -> None:
    await codex.fire(HookMoment.ASKS, TOUCH)
    await codex.fire(HookMoment.ASKS, OTHER)
    await codex.fire(HookMoment.AFTER_TOOL, OTHER)
    assert [ask.title for ask in await codex.open_asks()] == [TOUCH]
    await codex.fire(HookMoment.BEFORE_TOOL, OTHER)
    assert [ask.title for ask in await codex.open_asks()] == [TOUCH]
    await codex.fire(HookMoment.AFTER_TOOL, TOUCH)
    assert await codex.open_asks() == []


async def test_a_notification_about_a_dialog_opens_an_ask_unless_one_is_open(gemini: Window) -> None:
    await gemini.fire(HookMoment.WAITS, "Confirm: touch made")
    await gemini.fire(HookMoment.WAITS, "Confirm: touch made, still")
    (ask,) = await gemini.open_asks()
    assert (ask.title, ask.in_own_window) == ("Confirm: touch made", True)
    await gemini.fire(HookMoment.AFTER_TOOL, "run_shell_command: touch made")
    assert await gemini.open_asks() == [], "gemini runs no other call while a dialog is open"


async def test_a_notification_that_the_program_is_idle_opens_no_ask(gemini: Window) -> None:
    await gemini.fire(HookMoment.WAITS, "waits for your input", needs_person=False)
    assert await gemini.open_asks() == []


async def test_the_ask_of_a_window_ends_with_its_session(codex: Window) -> None:
    await codex.fire(HookMoment.ASKS, TOUCH)
    (ask,) = await codex.open_asks()
    await codex.world.end(codex.caller)
    assert (await codex.world.store.read(lambda tx: tx.asks.get(ask.id))).status is AskStatus.WITHDRAWN


async def test_a_session_with_too_many_asks_opens_no_more(codex: Window) -> None:
    for number in range(ASKS_MAX + 2):
        assert await codex.fire(HookMoment.ASKS, f"Bash: touch {number}") is EMPTY_REPLY
    assert len(await codex.open_asks()) == ASKS_MAX
    assert (await codex.world.session(codex.caller)).status is SessionStatus.NEEDS_INPUT
