"""Hooks that fired while no server was there: what they told is known afterwards, and nobody is answered."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from maestro.core import errors
from maestro.core.clock import to_micros
from maestro.domain.callers import SERVER_CALLER
from maestro.domain.conversations import TurnState
from maestro.domain.sessions import SessionStatus, StatusSource
from maestro.services.conversations import transcript_usage
from maestro.services.hooks.late_hooks_job import HOOK_FOLDER, LateHookJob
from maestro.services.sessions import lifecycle
from maestro.services.supervision import resume
from maestro.store.base import Tx
from maestro.tools.hook_dialect import EMPTY_REPLY, HookEvent, HookMoment, ReplyKind

Terminal = Any


class Away:
    """No server: hooks are kept as clients keep them. Then one starts."""

    def __init__(self, terminal: Terminal, home: Path) -> None:
        self.terminal, self.world, self.home = terminal, terminal.world, home
        (home / HOOK_FOLDER).mkdir()
        self.token = self.world.tokens[terminal.caller.name]

    def fires(self, event: str, raw: bytes | None = None, **payload: Any) -> None:
        self.world.clock.advance(0.01)
        head = f"maestro-hook/1\n{to_micros(self.world.clock.now())}000\n{self.token}\n"
        self.put(
            f"{self.terminal.caller.name}.claude.{event}",
            head.encode() + (raw or json.dumps(payload, indent=1).encode()),
        )

    def put(self, name: str, data: bytes) -> Path:
        path = self.home / HOOK_FOLDER / name
        path.write_bytes(data)
        return path

    async def ends(self) -> None:
        self.world.clock.advance(1)
        self.terminal.restart()
        await self.server_looks()

    async def server_looks(self) -> None:
        job = LateHookJob(self.world.store, self.terminal.desk, self.home, clock=self.world.clock)
        await job.run_once()
        assert job.first_round_done.is_set()

    def left(self) -> list[str]:
        return sorted(path.name for path in (self.home / HOOK_FOLDER).iterdir())


@pytest.fixture
async def away(terminal: Terminal, tmp_path: Path) -> Away:
    await terminal.at_rest()
    return Away(terminal, tmp_path)


async def test_a_turn_that_ended_meanwhile_has_ended(away: Away) -> None:
    terminal = away.terminal
    await terminal.fire(HookMoment.PROMPT, prompt="Go on.", conversation="c1")
    away.fires("Stop")
    await away.ends()
    assert await terminal.turn() is TurnState.IDLE
    assert await terminal.talking.status == "idle"
    assert away.left() == []


async def test_and_its_mail_reaches_it(away: Away) -> None:
    terminal = away.terminal
    await terminal.fire(HookMoment.PROMPT, prompt="Go on.", conversation="c1")
    await away.world.send(None, "w", message="Look here.")
    away.fires("Stop")
    await away.ends()
    (pushed,) = await terminal.wake()
    assert "Look here." in pushed["text"]


async def test_they_are_taken_as_they_happened(away: Away) -> None:
    for first, second, expected in (
        ("Stop", "UserPromptSubmit", TurnState.WORKING),
        ("UserPromptSubmit", "Stop", TurnState.IDLE),
    ):
        away.fires(first)
        away.fires(second)
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
    assert (await terminal.fire(HookMoment.AFTER_TOOL)).kind is ReplyKind.CONTEXT


async def test_what_is_heard_since_knows_better(away: Away) -> None:
    terminal = away.terminal
    away.fires("Stop")
    terminal.restart()
    await terminal.fire(HookMoment.PROMPT, prompt="By hand.")
    await away.server_looks()
    assert await terminal.turn() is TurnState.WORKING
    assert away.left() == []


async def test_also_if_another_server_heard_it(away: Away) -> None:
    terminal = away.terminal
    sent = await away.world.send(None, "w", message="Look here.")
    away.fires("Stop")
    await terminal.fire(HookMoment.PROMPT, prompt="By hand.", conversation="c1")
    await away.ends()
    assert (await terminal.turn(), await terminal.state(sent)) == (TurnState.WORKING, "delivered")
    away.fires("UserPromptSubmit")
    await terminal.fire(HookMoment.STOP)
    await away.ends()
    assert await terminal.turn() is TurnState.IDLE


async def test_also_if_it_is_heard_at_that_moment(away: Away, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = away.terminal
    await terminal.fire(HookMoment.PROMPT, prompt="Go on.", conversation="c1")
    away.fires("Stop")
    sent = await away.world.send(None, "w", message="Look here.")
    look = transcript_usage.read_new_part

    async def meanwhile(talk: Any, happening: HookEvent, reply: Any, **more: Any) -> Any:
        if happening.moment is HookMoment.STOP:
            await terminal.fire(HookMoment.PROMPT, prompt="By hand.", conversation="c1")
        return await look(talk, happening, reply, **more)

    monkeypatch.setattr(transcript_usage, "read_new_part", meanwhile)
    await away.server_looks()
    assert (await terminal.turn(), await terminal.state(sent)) == (TurnState.WORKING, "delivered")


@pytest.mark.parametrize(
    "heard", [{"moment": HookMoment.BEFORE_TOOL, "is_from_subagent": True}, {"moment": HookMoment.MODEL}]
)
async def test_but_not_what_says_nothing_of_its_turn(away: Away, heard: dict[str, Any]) -> None:
    terminal = away.terminal
    await terminal.fire(HookMoment.PROMPT, prompt="Go on.", conversation="c1")
    away.fires("Stop")
    await terminal.fire(**heard)
    await away.server_looks()
    assert await terminal.turn() is TurnState.IDLE


async def test_one_that_was_started_again_meanwhile_has_not_said_it(away: Away) -> None:
    terminal = away.terminal
    sent = await away.world.send(None, "w", message="Look here.")
    away.fires("Stop")

    def start_again(tx: Tx) -> None:
        session, spawn = tx.sessions.get(terminal.caller.name), tx.spawns.get(terminal.caller.name)
        assert session is not None and spawn is not None
        tx.spawns.record_exit(session.id, epoch=spawn.epoch, code=None, signal=None, tail="", at=tx.at)
        lifecycle.finish_session(
            tx, session, SessionStatus.LOST, source=StatusSource.PROCESS, actor=SERVER_CALLER, detail="gone"
        )
        resume.restart_session(tx, SERVER_CALLER, tx.sessions.get(session.id) or session, spawn)

    away.world.clock.advance(1)
    await away.world.store.write(start_again)
    before = await terminal.state(sent)
    await away.ends()
    assert (await terminal.turn(), await terminal.talking.status) == (TurnState.NONE, "spawning")
    assert await terminal.state(sent) == before != "read"


async def test_what_was_written_down_and_not_answered_is_not_told_twice(away: Away) -> None:
    terminal = away.terminal
    await terminal.fire(HookMoment.PROMPT, prompt="Go on.", conversation="c1")
    await terminal.fire(HookMoment.FAILS, problem="Nobody there.", conversation="c1")
    before = await away.world.log()
    away.fires("StopFailure", error="Nobody there.")
    await away.ends()
    assert await away.world.log() == before


async def test_a_self_test_is_nobodys_hook(away: Away) -> None:
    away.fires("UserPromptSubmit", maestro_test="connect")
    await away.ends()
    assert await away.terminal.turn() is TurnState.IDLE


@pytest.mark.parametrize(
    "raw",
    [
        b'{"prompt": "\xff"}',
        b'{"x":' + b"[" * 5_000 + b"]" * 5_000 + b"}",
        b'{"transcript_path": "a\\u0000b"}',
        b'{"session_id": "\\ud800"}',
    ],
)
async def test_no_words_keep_a_server_from_its_start(away: Away, raw: bytes) -> None:
    away.fires("Stop", raw)
    away.fires("UserPromptSubmit")
    await away.ends()
    assert await away.terminal.turn() is TurnState.WORKING
    assert away.left() == []


async def test_nor_what_is_no_file(away: Away) -> None:
    (away.home / HOOK_FOLDER / "folder").mkdir()
    os.mkfifo(away.home / HOOK_FOLDER / "ses_1.claude.Stop")
    os.mkfifo(away.home / HOOK_FOLDER / "ses_1.claude.Stop.taken")
    away.fires("UserPromptSubmit")
    await away.ends()
    assert await away.terminal.turn() is TurnState.WORKING


async def test_a_hook_that_was_heard_and_not_answered_in_time(away: Away) -> None:
    terminal = away.terminal
    await terminal.fire(HookMoment.PROMPT, prompt="By hand.")
    await away.world.send(None, "w", message="Look here.")
    assert (await terminal.fire(HookMoment.STOP)).kind is ReplyKind.GO_ON, "the server thinks that it goes on"
    assert await terminal.turn() is TurnState.WORKING
    away.fires("Stop")
    await away.server_looks()
    assert await terminal.turn() is TurnState.IDLE


async def test_one_that_lost_its_context_gets_its_primer_later(away: Away) -> None:
    terminal = away.terminal
    away.fires("SessionStart", source="compact")
    await away.ends()
    told = await terminal.fire(HookMoment.AFTER_TOOL)
    assert told.kind is ReplyKind.CONTEXT and "maestro" in told.text.lower()
    assert await terminal.fire(HookMoment.AFTER_TOOL) is EMPTY_REPLY


async def test_without_that_there_is_none(away: Away) -> None:
    away.fires("UserPromptSubmit")
    await away.ends()
    assert await away.terminal.fire(HookMoment.AFTER_TOOL) is EMPTY_REPLY


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
    assert away.left() == [] and await away.terminal.turn() is TurnState.IDLE


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("ses_1.claude.Stop", b""),
        ("ses_1.claude.Stop", b"maestro-hook/1\nx\ny\n{}"),
        ("ses_1.claude.Stop", b"maestro-hook/2\n1\ny\n{}"),
        ("nonsense", b"maestro-hook/1\n1\ny\n{}"),
        ("ses_1.emacs.Stop", b"maestro-hook/1\n1\nTOKEN\n{}"),
        ("ses_1.claude.Nothing", b"maestro-hook/1\n1\nTOKEN\n{}"),
        ("ses_1.claude.Stop", b"maestro-hook/1\n1\nTOKEN\n{"),
        ("ses_1.claude.Stop", b"maestro-hook/1\n1\n\n{}"),
    ],
)
async def test_what_cannot_be_read_is_thrown_away(away: Away, name: str, data: bytes) -> None:
    away.put(name, data.replace(b"TOKEN", away.token.encode()))
    away.fires("UserPromptSubmit")
    await away.ends()
    assert away.left() == []
    assert await away.terminal.turn() is TurnState.WORKING, "and keeps nothing else from being taken in"


async def test_what_is_being_written_is_left_until_nobody_will(away: Away) -> None:
    path = away.put(".ses_1.17", b"maestro-ho")
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
    assert away.left() == [] and await away.terminal.turn() is TurnState.WORKING


async def test_a_folder_that_cannot_be_made_breaks_nothing(away: Away) -> None:
    (away.home / HOOK_FOLDER).rmdir()
    (away.home / HOOK_FOLDER).write_text("in the way")
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
