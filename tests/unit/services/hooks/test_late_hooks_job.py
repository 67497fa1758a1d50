"""The late-hook job applies hook events that fired while no server ran; such an event gets no reply."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.unit.services.conversations.conftest import TerminalSession

from maestro.core import errors
from maestro.core.clock import to_micros
from maestro.domain.callers import SERVER_CALLER
from maestro.domain.conversations import TurnState
from maestro.domain.sessions import SessionStatus, StatusSource
from maestro.services.conversations import record_contents
from maestro.services.hooks.late_hooks_job import LateHookJob
from maestro.services.sessions import lifecycle
from maestro.services.supervision import resume
from maestro.store.base import Tx
from maestro.tools.hook_dialect import EMPTY_REPLY, HookEvent, HookMoment, ReplyKind
from maestro.wire.late_hook import FOLDER as HOOK_FOLDER


class OfflineHooks:
    """A client that stores hook events while no server runs, and a server that starts later."""

    def __init__(self, terminal: TerminalSession, home: Path) -> None:
        self.terminal, self.world, self.home = terminal, terminal.world, home
        (home / HOOK_FOLDER).mkdir()
        self.token = self.world.tokens[terminal.caller.name]

    def store_hook(self, event: str, raw: bytes | None = None, **payload: Any) -> None:
        self.world.clock.advance(0.01)
        head = f"maestro-hook/1\n{to_micros(self.world.clock.now())}000\n{self.token}\n"
        self.store_file(
            f"{self.terminal.caller.name}.claude.{event}",
            head.encode() + (raw or json.dumps(payload, indent=1).encode()),
        )

    def store_file(self, name: str, data: bytes) -> Path:
        path = self.home / HOOK_FOLDER / name
        path.write_bytes(data)
        return path

    async def start_server(self) -> None:
        self.world.clock.advance(1)
        self.terminal.restart()
        await self.apply_late_hooks()

    async def apply_late_hooks(self) -> None:
        job = LateHookJob(self.world.store, self.terminal.handler, self.home, clock=self.world.clock)
        await job.run_once()
        assert job.first_round_done.is_set()

    def remaining_files(self) -> list[str]:
        return sorted(path.name for path in (self.home / HOOK_FOLDER).iterdir())


@pytest.fixture
async def offline(terminal: TerminalSession, tmp_path: Path) -> OfflineHooks:
    await terminal.finish_first_turn()
    return OfflineHooks(terminal, tmp_path)


async def test_a_stored_stop_ends_the_turn(offline: OfflineHooks) -> None:
    terminal = offline.terminal
    await terminal.fire(HookMoment.PROMPT, prompt="Go on.", conversation="c1")
    offline.store_hook("Stop")
    await offline.start_server()
    assert await terminal.turn() is TurnState.IDLE
    assert await terminal.program.status == "idle"
    assert offline.remaining_files() == []


async def test_mail_is_pushed_after_a_stored_stop(offline: OfflineHooks) -> None:
    terminal = offline.terminal
    await terminal.fire(HookMoment.PROMPT, prompt="Go on.", conversation="c1")
    await offline.world.send(None, "w", message="Look here.")
    offline.store_hook("Stop")
    await offline.start_server()
    (pushed,) = await terminal.push_mail()
    assert "Look here." in pushed["text"]


async def test_stored_hooks_are_applied_in_the_order_of_time(offline: OfflineHooks) -> None:
    for first, second, expected in (
        ("Stop", "UserPromptSubmit", TurnState.WORKING),
        ("UserPromptSubmit", "Stop", TurnState.IDLE),
    ):
        offline.store_hook(first)
        offline.store_hook(second)
        await offline.start_server()
        assert await offline.terminal.turn() is expected


async def test_a_push_that_a_stored_hook_confirms_is_read(offline: OfflineHooks) -> None:
    terminal = offline.terminal
    sent = await offline.world.send(None, "w", message="Look here.")
    (pushed,) = await terminal.push_mail()
    offline.store_hook("UserPromptSubmit", prompt=pushed["text"])
    offline.store_hook("Stop")
    await offline.start_server()
    assert await terminal.delivery_state(sent) == "read"
    assert len(await terminal.push_mail()) == 1, "the confirmed mail is not pushed again"


async def test_late_hooks_show_no_mail(offline: OfflineHooks) -> None:
    terminal = offline.terminal
    sent = await offline.world.send(None, "w", message="Look here.")
    offline.store_hook("UserPromptSubmit", prompt="By hand.")
    offline.store_hook("PostToolUse")
    await offline.start_server()
    assert await terminal.delivery_state(sent) == "sent"
    assert (await terminal.fire(HookMoment.AFTER_TOOL)).kind is ReplyKind.CONTEXT


async def test_a_late_hook_older_than_a_known_event_is_ignored(offline: OfflineHooks) -> None:
    terminal = offline.terminal
    offline.store_hook("Stop")
    terminal.restart()
    await terminal.fire(HookMoment.PROMPT, prompt="By hand.")
    await offline.apply_late_hooks()
    assert await terminal.turn() is TurnState.WORKING
    assert offline.remaining_files() == []


async def test_a_late_hook_older_than_an_event_of_another_server_is_ignored(offline: OfflineHooks) -> None:
    terminal = offline.terminal
    sent = await offline.world.send(None, "w", message="Look here.")
    offline.store_hook("Stop")
    await terminal.fire(HookMoment.PROMPT, prompt="By hand.", conversation="c1")
    await offline.start_server()
    assert (await terminal.turn(), await terminal.delivery_state(sent)) == (TurnState.WORKING, "delivered")
    offline.store_hook("UserPromptSubmit")
    await terminal.fire(HookMoment.STOP)
    await offline.start_server()
    assert await terminal.turn() is TurnState.IDLE


async def test_a_late_hook_older_than_a_simultaneous_event_is_ignored(
    offline: OfflineHooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = offline.terminal
    await terminal.fire(HookMoment.PROMPT, prompt="Go on.", conversation="c1")
    offline.store_hook("Stop")
    sent = await offline.world.send(None, "w", message="Look here.")
    look = record_contents.read_new_part

    async def meanwhile(conversation: Any, event: HookEvent, reply: Any, **more: Any) -> Any:
        if event.moment is HookMoment.STOP:
            await terminal.fire(HookMoment.PROMPT, prompt="By hand.", conversation="c1")
        return await look(conversation, event, reply, **more)

    monkeypatch.setattr(record_contents, "read_new_part", meanwhile)
    await offline.apply_late_hooks()
    assert (await terminal.turn(), await terminal.delivery_state(sent)) == (TurnState.WORKING, "delivered")


@pytest.mark.parametrize(
    "heard", [{"moment": HookMoment.BEFORE_TOOL, "is_from_subagent": True}, {"moment": HookMoment.MODEL}]
)
async def test_events_that_report_no_turn_do_not_outdate_a_late_hook(
    offline: OfflineHooks, heard: dict[str, Any]
) -> None:
    terminal = offline.terminal
    await terminal.fire(HookMoment.PROMPT, prompt="Go on.", conversation="c1")
    offline.store_hook("Stop")
    await terminal.fire(**heard)
    await offline.apply_late_hooks()
    assert await terminal.turn() is TurnState.IDLE


async def test_a_late_hook_from_before_a_resume_is_ignored(offline: OfflineHooks) -> None:
    terminal = offline.terminal
    sent = await offline.world.send(None, "w", message="Look here.")
    offline.store_hook("Stop")

    def start_again(tx: Tx) -> None:
        session, spawn = tx.sessions.get(terminal.caller.name), tx.spawns.get(terminal.caller.name)
        assert session is not None and spawn is not None
        tx.spawns.record_exit(session.id, epoch=spawn.epoch, code=None, signal=None, tail="", at=tx.at)
        lifecycle.finish_session(
            tx, session, SessionStatus.LOST, source=StatusSource.PROCESS, actor=SERVER_CALLER, detail="gone"
        )
        resume.restart_session(tx, SERVER_CALLER, tx.sessions.get(session.id) or session, spawn)

    offline.world.clock.advance(1)
    await offline.world.store.write(start_again)
    before = await terminal.delivery_state(sent)
    await offline.start_server()
    assert (await terminal.turn(), await terminal.program.status) == (TurnState.NONE, "spawning")
    assert await terminal.delivery_state(sent) == before != "read"


async def test_a_late_stop_that_is_already_known_is_not_reported_twice(offline: OfflineHooks) -> None:
    terminal = offline.terminal
    await terminal.fire(HookMoment.PROMPT, prompt="Go on.", conversation="c1")
    await terminal.fire(HookMoment.FAILS, problem="Nobody there.", conversation="c1")
    before = await offline.world.log()
    offline.store_hook("StopFailure", error="Nobody there.")
    await offline.start_server()
    assert await offline.world.log() == before


async def test_a_stored_self_test_is_ignored(offline: OfflineHooks) -> None:
    offline.store_hook("UserPromptSubmit", maestro_test="connect")
    await offline.start_server()
    assert await offline.terminal.turn() is TurnState.IDLE


@pytest.mark.parametrize(
    "raw",
    [
        b'{"prompt": "\xff"}',
        b'{"x":' + b"[" * 5_000 + b"]" * 5_000 + b"}",
        b'{"transcript_path": "a\\u0000b"}',
        b'{"session_id": "\\ud800"}',
    ],
)
async def test_a_late_hook_with_an_invalid_payload_does_not_prevent_the_start_of_the_server(
    offline: OfflineHooks, raw: bytes
) -> None:
    offline.store_hook("Stop", raw)
    offline.store_hook("UserPromptSubmit")
    await offline.start_server()
    assert await offline.terminal.turn() is TurnState.WORKING
    assert offline.remaining_files() == []


async def test_entries_that_are_no_files_do_not_prevent_the_start_of_the_server(offline: OfflineHooks) -> None:
    (offline.home / HOOK_FOLDER / "folder").mkdir()
    os.mkfifo(offline.home / HOOK_FOLDER / "ses_1.claude.Stop")
    os.mkfifo(offline.home / HOOK_FOLDER / "ses_1.claude.Stop.taken")
    offline.store_hook("UserPromptSubmit")
    await offline.start_server()
    assert await offline.terminal.turn() is TurnState.WORKING


async def test_a_stored_stop_ends_the_turn_although_the_lost_reply_continued_the_turn(offline: OfflineHooks) -> None:
    terminal = offline.terminal
    await terminal.fire(HookMoment.PROMPT, prompt="By hand.")
    await offline.world.send(None, "w", message="Look here.")
    assert (await terminal.fire(HookMoment.STOP)).kind is ReplyKind.GO_ON, (
        "the server assumes that the program continues"
    )
    assert await terminal.turn() is TurnState.WORKING
    offline.store_hook("Stop")
    await offline.apply_late_hooks()
    assert await terminal.turn() is TurnState.IDLE


async def test_a_stored_compaction_makes_the_primer_due(offline: OfflineHooks) -> None:
    terminal = offline.terminal
    offline.store_hook("SessionStart", source="compact")
    await offline.start_server()
    told = await terminal.fire(HookMoment.AFTER_TOOL)
    assert told.kind is ReplyKind.CONTEXT and "maestro" in told.text.lower()
    assert await terminal.fire(HookMoment.AFTER_TOOL) is EMPTY_REPLY


async def test_without_a_stored_compaction_no_primer_is_due(offline: OfflineHooks) -> None:
    offline.store_hook("UserPromptSubmit")
    await offline.start_server()
    assert await offline.terminal.fire(HookMoment.AFTER_TOOL) is EMPTY_REPLY


async def test_late_hooks_of_an_ended_session_are_ignored(offline: OfflineHooks) -> None:
    await offline.world.end(offline.terminal.caller)
    before = await offline.world.log()
    offline.store_hook("UserPromptSubmit")
    await offline.start_server()
    assert offline.remaining_files() == [] and await offline.world.log() == before


async def test_late_hooks_with_an_unknown_token_are_ignored(offline: OfflineHooks) -> None:
    offline.token = "mine"
    offline.store_hook("UserPromptSubmit")
    await offline.start_server()
    assert offline.remaining_files() == [] and await offline.terminal.turn() is TurnState.IDLE


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
async def test_unreadable_files_are_deleted(offline: OfflineHooks, name: str, data: bytes) -> None:
    offline.store_file(name, data.replace(b"TOKEN", offline.token.encode()))
    offline.store_hook("UserPromptSubmit")
    await offline.start_server()
    assert offline.remaining_files() == []
    assert await offline.terminal.turn() is TurnState.WORKING, "the file does not prevent the next late hook"


async def test_a_half_written_file_is_kept_until_the_file_is_old(offline: OfflineHooks) -> None:
    path = offline.store_file(".ses_1.17", b"maestro-ho")
    await offline.start_server()
    assert offline.remaining_files() == [".ses_1.17"]
    os.utime(path, (1, 1))
    await offline.start_server()
    assert offline.remaining_files() == []


async def test_a_late_hook_is_kept_while_the_store_cannot_write(
    offline: OfflineHooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    offline.store_hook("UserPromptSubmit")
    with monkeypatch.context() as patch:

        async def full(*_: Any, **__: Any) -> None:
            raise errors.StorageFull("The disk is full.")

        patch.setattr(offline.world.store, "write", full)
        await offline.start_server()
    assert len(offline.remaining_files()) == 1
    await offline.start_server()
    assert offline.remaining_files() == [] and await offline.terminal.turn() is TurnState.WORKING


async def test_a_server_starts_although_the_folder_of_late_hooks_cannot_be_created(offline: OfflineHooks) -> None:
    (offline.home / HOOK_FOLDER).rmdir()
    (offline.home / HOOK_FOLDER).write_text("in the way")
    await offline.start_server()


async def test_pushes_wait_for_the_first_round_of_late_hooks(offline: OfflineHooks) -> None:
    """A late hook may confirm mail, so no mail is pushed before the first round of late hooks."""
    terminal = offline.terminal
    caught_up = []

    async def is_caught_up() -> None:
        caught_up.append(len(terminal.program.runner.prompts()))

    terminal.program.push_job._wait_until_caught_up = is_caught_up
    await offline.world.send(None, "w", message="Look here.")
    await terminal.push_mail()
    assert caught_up == [0]
