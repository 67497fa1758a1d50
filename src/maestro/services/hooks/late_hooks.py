"""Late hooks: hook events that fired while no server ran. Newer events may have made a late hook outdated."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from maestro.core import errors
from maestro.domain.callers import Caller
from maestro.domain.conversations import SessionConversation, StateReporter, TurnState
from maestro.services.hooks.hook_state import HookState
from maestro.store.base import Tx
from maestro.tools.hook_dialect import HookEvent, HookMoment

Writes = list[Callable[[Tx], None]]
_TURN_ENDS = (HookMoment.STOP, HookMoment.FAILS)


def with_age_check(writes: Writes, caller: Caller, event: HookEvent, state: HookState, fired_at: datetime) -> Writes:
    """Return the writes of a late hook after a check that refuses an outdated hook.

    The last write stores the hook's time, so that an older late hook is refused later.
    """

    def check(tx: Tx) -> None:
        if is_outdated(
            tx.conversations.get(caller.name), event, fired_at=fired_at, turn_event_at=state.turn_event_at
        ):
            raise errors.Conflict(f"A newer event of session {caller.name} is known: this late hook is ignored.")

    return [check, *writes, lambda tx: tx.conversations.set_turn_at(caller.name, fired_at)]


def is_outdated(
    conversation: SessionConversation | None, event: HookEvent, *, fired_at: datetime, turn_event_at: datetime | None
) -> bool:
    """Return whether a late hook is older than the known state, or known already.

    A killed server may have written the consequences of the hook without answering it.
    """
    if turn_event_at is not None and turn_event_at > fired_at:
        return True
    if conversation is None:
        return False
    is_known = (
        conversation.state_reporter is StateReporter.HOOKS
        and conversation.turn is TurnState.IDLE
        and event.moment in _TURN_ENDS
    )
    return is_known or conversation.turn_at > fired_at
