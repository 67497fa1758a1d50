"""Hook events report the status of a session, and a status is written only if it is new or expires soon."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.unit.services.conversations.conftest import ProtocolHooks, TerminalSession

from maestro.core import limits
from maestro.domain.conversations import SessionConversation
from maestro.domain.sessions import Session, SessionStatus, StatusSource
from maestro.services.hooks.snapshot import HookSnapshot
from maestro.services.hooks.status_signals import end_session, status_to_write
from maestro.testing.clock import FakeClock
from maestro.testing.factories import make_session
from maestro.tools.hook_dialect import EMPTY_REPLY, HookEvent, HookMoment, HookReply, ReplyKind, StartReason


async def test_hooks_of_a_driven_program_write_no_status(hooks: ProtocolHooks) -> None:
    before = await hooks.program.world.log()
    for moment in (
        HookMoment.STARTS,
        HookMoment.PROMPT,
        HookMoment.BEFORE_TOOL,
        HookMoment.AFTER_TOOL,
        HookMoment.WAITS,
        HookMoment.STOP,
    ):
        assert await hooks.fire(moment) is EMPTY_REPLY
    assert await hooks.program.world.log() == before


async def test_hooks_of_a_driven_program_open_no_ask(hooks: ProtocolHooks) -> None:
    assert await hooks.fire(HookMoment.ASKS, summary="Bash: git push") is EMPTY_REPLY
    assert await hooks.program.world.store.read(lambda tx: tx.asks.list_open(after="", limit=10)) == []


def make_snapshot(at: datetime, session: Session, conversation: SessionConversation | None = None) -> HookSnapshot:
    return HookSnapshot(at, session, None, [], False, "", conversation, ())


def hook_session(at: datetime, **fields: Any) -> Session:
    """Return a session whose status came from a hook at `at`."""
    until = at + timedelta(seconds=limits.status_valid_seconds)
    return make_session(**{"status_source": StatusSource.HOOK, "status_at": at, "status_until": until} | fields)


def written(
    moment: HookMoment, at: datetime, session: Session, *, reply: HookReply = EMPTY_REPLY, **fields: Any
) -> SessionStatus | None:
    event = HookEvent(tool="claude", event="x", moment=moment, **fields)
    return status_to_write(event, make_snapshot(at, session), reply)


@pytest.mark.parametrize(
    ("moment", "fields", "status"),
    [
        (HookMoment.PROMPT, {}, SessionStatus.WORKING),
        (HookMoment.BEFORE_TOOL, {}, SessionStatus.WORKING),
        (HookMoment.ASKS, {}, SessionStatus.NEEDS_INPUT),
        (HookMoment.FAILS, {}, SessionStatus.IDLE),
        (HookMoment.STOP, {}, SessionStatus.IDLE),
        (HookMoment.STOP, {"reply": HookReply(ReplyKind.GO_ON, "x")}, SessionStatus.WORKING),
        (HookMoment.WAITS, {"needs_person": True}, SessionStatus.NEEDS_INPUT),
        (HookMoment.WAITS, {"needs_person": False}, SessionStatus.IDLE),
        (HookMoment.STARTS, {}, SessionStatus.IDLE),
        (HookMoment.STARTS, {"start_reason": StartReason.COMPACTED}, None),
        (HookMoment.MODEL, {}, None),
    ],
)
def test_each_hook_moment_reports_the_expected_status(
    clock: FakeClock, moment: HookMoment, fields: dict[str, Any], status: SessionStatus | None
) -> None:
    assert written(moment, clock.now(), make_session(), **fields) is status


def test_a_fresh_status_of_a_hook_is_not_written_again(clock: FakeClock) -> None:
    at, session = clock.now(), hook_session(clock.now(), status=SessionStatus.WORKING)
    assert written(HookMoment.PROMPT, at, session) is None
    later = at + timedelta(seconds=limits.hook_status_seconds)
    assert written(HookMoment.PROMPT, later, session) is None
    assert written(HookMoment.PROMPT, later + timedelta(seconds=1), session) is SessionStatus.WORKING


def test_a_status_of_a_hook_without_an_end_is_not_written_again(clock: FakeClock) -> None:
    session = hook_session(clock.now(), status=SessionStatus.IDLE, status_until=None)
    assert written(HookMoment.STOP, clock.now() + timedelta(days=1), session) is None


def test_a_hook_always_writes_an_ask_and_always_replaces_a_status_from_another_source(clock: FakeClock) -> None:
    at = clock.now()
    asking = hook_session(at, status=SessionStatus.NEEDS_INPUT)
    assert written(HookMoment.ASKS, at, asking) is SessionStatus.NEEDS_INPUT
    reported = hook_session(at, status=SessionStatus.WORKING, status_source=StatusSource.REPORT)
    assert written(HookMoment.PROMPT, at, reported) is SessionStatus.WORKING


async def test_a_reported_completion_stays_until_the_next_prompt(terminal: TerminalSession) -> None:
    conversation = await terminal.program.conversation()
    done = make_session(status=SessionStatus.COMPLETED)
    snapshot = make_snapshot(terminal.world.clock.now(), done, conversation)
    for moment, status in ((HookMoment.STOP, None), (HookMoment.PROMPT, SessionStatus.WORKING)):
        event = HookEvent(tool="claude", event="x", moment=moment)
        assert status_to_write(event, snapshot, EMPTY_REPLY) is status


async def test_the_end_of_a_program_ends_its_session_once(terminal: TerminalSession) -> None:
    world, caller = terminal.world, terminal.caller
    for _ in range(2):
        await world.store.write(lambda tx: end_session(tx, caller))
    session = await world.session(caller)
    assert (session.status, session.status_source) == (SessionStatus.STOPPED, StatusSource.HOOK)
    assert [event.kind for event in await world.log()].count("session.ended") == 1
