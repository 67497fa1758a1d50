"""Hooks that fired while no server was there: what they told is known afterwards, and nobody is answered."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from maestro import errors
from maestro.agents.hooks.base import NOTHING, Kind, Moment
from maestro.domain.talks import Turn
from maestro.services.upkeep.unheard_hooks import FOLDER, UnheardHooks

Terminal = Any


class Away:
    """No server: hooks are kept as clients keep them. Then one starts."""

    def __init__(self, terminal: Terminal, home: Path) -> None:
        self.terminal, self.world, self.home = terminal, terminal.world, home
        (home / FOLDER).mkdir()
        self.token = self.world.tokens[terminal.caller.name]

    def fires(self, event: str, *, at_ns: int = 0, tool: str = "claude", **payload: Any) -> None:
        head = f"maestro-hook/1\n{at_ns or time.time_ns()}\n{self.token}\n"
        self.put(f"{self.terminal.caller.name}.{tool}.{event}", head + json.dumps(payload, indent=1))

    def put(self, name: str, text: str) -> Path:
        path = self.home / FOLDER / name
        path.write_text(text)
        return path

    async def ends(self) -> None:
        self.terminal.restart()
        await self.server_looks()

    async def server_looks(self) -> None:
        job = UnheardHooks(self.world.store, self.terminal.desk, self.home, clock=self.world.clock)
        await job.run_once()
        assert job.taken.is_set()

    def left(self) -> list[str]:
        return sorted(path.name for path in (self.home / FOLDER).iterdir())


@pytest.fixture
async def away(terminal: Terminal, tmp_path: Path) -> Away:
    await terminal.at_rest()
    return Away(terminal, tmp_path)


async def test_a_turn_that_ended_meanwhile_has_ended(away: Away) -> None:
    terminal = away.terminal
    await terminal.fire(Moment.PROMPT, prompt="Go on.", conversation="c1")
    away.fires("Stop")
    await away.ends()
    assert await terminal.turn() is Turn.IDLE
    assert await terminal.talking.status == "idle"
    assert away.left() == []


async def test_and_its_mail_reaches_it(away: Away) -> None:
    terminal = away.terminal
    await terminal.fire(Moment.PROMPT, prompt="Go on.", conversation="c1")
    await away.world.send(None, "w", message="Look here.")
    away.fires("Stop")
    await away.ends()
    (pushed,) = await terminal.wake()
    assert "Look here." in pushed["text"]


async def test_they_are_taken_as_they_happened(away: Away) -> None:
    for first, second, expected in (
        ("Stop", "UserPromptSubmit", Turn.WORKING),
        ("UserPromptSubmit", "Stop", Turn.IDLE),
    ):
        away.fires(first, at_ns=time.time_ns())
        away.fires(second, at_ns=time.time_ns())
        await away.ends()
        assert await away.terminal.turn() is expected


async def test_what_was_pushed_and_came_in_meanwhile_is_read(away: Away) -> None:
    terminal = away.terminal
    sent = await away.world.send(None, "w", message="Look here.")
    (pushed,) = await terminal.wake()
    away.fires("UserPromptSubmit", prompt=pushed["text"])
    away.fires("Stop")
    await away.ends()
    assert await terminal.state(sent) == "read"
    assert len(await terminal.wake()) == 1, "it need not be told again"


async def test_nobody_is_shown_anything(away: Away) -> None:
    terminal = away.terminal
    sent = await away.world.send(None, "w", message="Look here.")
    away.fires("UserPromptSubmit", prompt="By hand.")
    away.fires("PostToolUse")
    await away.ends()
    assert await terminal.state(sent) == "sent"
    assert (await terminal.fire(Moment.AFTER_TOOL)).kind is Kind.CONTEXT


async def test_what_is_heard_since_knows_better(away: Away) -> None:
    terminal = away.terminal
    away.fires("Stop")
    terminal.restart()
    await terminal.fire(Moment.PROMPT, prompt="By hand.")
    await away.server_looks()
    assert await terminal.turn() is Turn.WORKING
    assert away.left() == []


async def test_a_hook_that_was_heard_and_not_answered_in_time(away: Away) -> None:
    terminal = away.terminal
    await terminal.fire(Moment.PROMPT, prompt="By hand.")
    await away.world.send(None, "w", message="Look here.")
    assert (await terminal.fire(Moment.STOP)).kind is Kind.GO_ON, "the server thinks that it goes on"
    assert await terminal.turn() is Turn.WORKING
    away.fires("Stop")
    await away.server_looks()
    assert await terminal.turn() is Turn.IDLE


async def test_one_that_lost_its_context_gets_its_primer_later(away: Away) -> None:
    terminal = away.terminal
    away.fires("SessionStart", source="compact")
    await away.ends()
    told = await terminal.fire(Moment.AFTER_TOOL)
    assert told.kind is Kind.CONTEXT and "maestro" in told.text.lower()
    assert await terminal.fire(Moment.AFTER_TOOL) is NOTHING


async def test_without_that_there_is_none(away: Away) -> None:
    away.fires("UserPromptSubmit")
    await away.ends()
    assert await away.terminal.fire(Moment.AFTER_TOOL) is NOTHING


async def test_a_session_that_has_ended_says_nothing_more(away: Away) -> None:
    await away.world.end(away.terminal.caller)
    before = await away.world.log()
    away.fires("UserPromptSubmit")
    await away.ends()
    assert away.left() == [] and await away.world.log() == before


async def test_nor_does_a_token_that_is_nobodys(away: Away) -> None:
    away.token = "mine"
    away.fires("UserPromptSubmit")
    await away.ends()
    assert away.left() == [] and await away.terminal.turn() is Turn.IDLE


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ses_1.claude.Stop", ""),
        ("ses_1.claude.Stop", "maestro-hook/1\nx\ny\n{}"),
        ("ses_1.claude.Stop", "maestro-hook/2\n1\ny\n{}"),
        ("nonsense", "maestro-hook/1\n1\ny\n{}"),
        ("ses_1.emacs.Stop", "maestro-hook/1\n1\nTOKEN\n{}"),
        ("ses_1.claude.Nothing", "maestro-hook/1\n1\nTOKEN\n{}"),
        ("ses_1.claude.Stop", "maestro-hook/1\n1\nTOKEN\n{"),
        ("ses_1.claude.Stop", "maestro-hook/1\n1\n\n{}"),
    ],
)
async def test_what_cannot_be_read_is_thrown_away(away: Away, name: str, text: str) -> None:
    away.put(name, text.replace("TOKEN", away.token))
    away.fires("UserPromptSubmit")
    await away.ends()
    assert away.left() == []
    assert await away.terminal.turn() is Turn.WORKING, "and keeps nothing else from being taken in"


async def test_what_is_being_written_is_left_until_nobody_will(away: Away) -> None:
    path = away.put(".ses_1.17", "maestro-ho")
    await away.ends()
    assert away.left() == [".ses_1.17"]
    os.utime(path, (1, 1))
    await away.ends()
    assert away.left() == []


async def test_it_waits_for_a_store_that_cannot_write(away: Away, monkeypatch: pytest.MonkeyPatch) -> None:
    away.fires("UserPromptSubmit")
    with monkeypatch.context() as patch:

        async def full(*_: Any, **__: Any) -> None:
            raise errors.StorageFull("The disk is full.")

        patch.setattr(away.world.store, "write", full)
        await away.ends()
    assert len(away.left()) == 1
    await away.ends()
    assert away.left() == [] and await away.terminal.turn() is Turn.WORKING


async def test_a_folder_that_cannot_be_made_breaks_nothing(away: Away) -> None:
    (away.home / FOLDER).rmdir()
    (away.home / FOLDER).write_text("in the way")
    await away.ends()


async def test_whoever_waits_to_be_woken_waits_for_them(away: Away) -> None:
    """Nothing is pushed before it is known what came in."""
    terminal = away.terminal
    caught_up = []

    async def is_caught_up() -> None:
        caught_up.append(len(terminal.talking.runner.prompts()))

    terminal.talking.waking._is_caught_up = is_caught_up
    await away.world.send(None, "w", message="Look here.")
    await terminal.wake()
    assert caught_up == [0]
