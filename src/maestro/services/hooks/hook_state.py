"""The state that the hook handler keeps in memory for each session between two hook events.

A lost state costs one more read, never a message.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from maestro.core import limits
from maestro.services.mail import receipts


@dataclass
class HookState:
    """The state of one session."""

    # Receipts of replies with mail that the model may not have read; None until the first read from the store.
    unconfirmed_receipts: list[str] | None = None
    mail_on_its_way: set[int] = field(default_factory=set)  # mail in undelivered replies
    # Mail that a running write marks as read: a simultaneous hook event must not treat the mail as unread.
    mail_being_marked_read: set[int] = field(default_factory=set)
    waiting_hooks: int = 0  # hooks that wait for the person; two hooks may wait for the same call
    delayed_stops: int = 0  # consecutive stops that mail has delayed
    wait_instruction: str = ""  # the last wait instruction, until a prompt with another text
    is_primer_due: bool = False
    model_was_asked: bool = False  # since the newest reply with mail
    agent_refusal_at: datetime | None = None  # when critical mail of an agent last refused a tool call
    may_have_window_asks: bool = True  # False: no ask waits in the session's own window, so no look is needed
    turn_event_at: datetime | None = None  # when a hook event last reported a turn

    def take_back_reply(self, receipt: str) -> None:
        """Take back an undelivered reply. The writes of the reply may be missing too: read the receipts anew."""
        if receipt:
            self.mail_on_its_way -= receipts.sequence_numbers(receipt)
        self.unconfirmed_receipts = None


class HookStates:
    """The states of the sessions with the most recent hook events."""

    def __init__(self) -> None:
        self._states: dict[str, HookState] = {}

    def state_of(self, session_id: str) -> HookState:
        state = self._states.pop(session_id, None) or HookState()
        self._states[session_id] = state
        if len(self._states) > limits.hook_sessions_remembered_max:
            del self._states[next(iter(self._states))]
        return state

    def forget_session(self, session_id: str) -> None:
        self._states.pop(session_id, None)
