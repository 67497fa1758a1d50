"""A late hook is outdated if the server knows a newer event of the turn."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest
from tests.unit.services.conversations.conftest import TerminalSession

from maestro.core import errors
from maestro.domain.conversations import SessionConversation, StateReporter, TurnState
from maestro.services.hooks.hook_state import HookState
from maestro.services.hooks.late_hooks import is_outdated, with_age_check
from maestro.store.base import Tx
from maestro.tools.hook_dialect import HookEvent, HookMoment

SECOND = timedelta(seconds=1)


def make_event(moment: HookMoment = HookMoment.STOP) -> HookEvent:
    return HookEvent(tool="claude", event="x", moment=moment)


@pytest.fixture
async def conversation(terminal: TerminalSession) -> SessionConversation:
    """Start a turn in the terminal session and return the conversation."""
    await terminal.fire(HookMoment.PROMPT, prompt="Begin.", conversation="c1")
    found = await terminal.program.conversation()
    assert isinstance(found, SessionConversation)
    return found


def check(conversation: SessionConversation | None, fired_at: datetime, **fields: Any) -> bool:
    values: dict[str, Any] = {"event": make_event(), "turn_event_at": None} | fields
    return is_outdated(conversation, fired_at=fired_at, **values)


def test_a_late_hook_before_the_stored_time_of_the_turn_is_outdated(conversation: SessionConversation) -> None:
    assert check(conversation, conversation.turn_at - SECOND)
    assert not check(conversation, conversation.turn_at)
    assert not check(conversation, conversation.turn_at + SECOND)


def test_a_late_hook_before_the_last_turn_event_in_memory_is_outdated(conversation: SessionConversation) -> None:
    at = conversation.turn_at + SECOND
    assert check(conversation, at, turn_event_at=at + SECOND) and check(None, at, turn_event_at=at + SECOND)
    assert not check(conversation, at, turn_event_at=at)


def test_a_session_without_a_conversation_has_no_outdated_hooks(conversation: SessionConversation) -> None:
    assert not check(None, conversation.turn_at - SECOND)


@pytest.mark.parametrize(
    ("moment", "is_known"), [(HookMoment.STOP, True), (HookMoment.FAILS, True), (HookMoment.PROMPT, False)]
)
def test_a_late_end_of_a_turn_that_has_ended_is_outdated(
    conversation: SessionConversation, moment: HookMoment, is_known: bool
) -> None:
    idle = msgspec.structs.replace(conversation, turn=TurnState.IDLE)
    at = conversation.turn_at + SECOND
    assert check(idle, at, event=make_event(moment)) is is_known
    driven = msgspec.structs.replace(idle, state_reporter=StateReporter.RUNNER)
    assert not check(driven, at, event=make_event(moment)), "the runner reports the turns of this program"


async def test_a_late_hook_stores_its_time_with_its_writes_or_is_refused_as_outdated(
    terminal: TerminalSession, conversation: SessionConversation
) -> None:
    calls: list[str] = []

    def apply(fired_at: datetime) -> Any:
        def write(tx: Tx) -> None:
            writes = [lambda tx: calls.append("applied")]
            for step in with_age_check(writes, terminal.caller, make_event(), HookState(), fired_at):
                step(tx)

        return terminal.world.store.write(write)

    later = conversation.turn_at + 5 * SECOND
    await apply(later)
    assert calls == ["applied"] and (await terminal.program.conversation()).turn_at == later
    with pytest.raises(errors.Conflict, match="this late hook is ignored"):
        await apply(later - SECOND)
    assert calls == ["applied"]
