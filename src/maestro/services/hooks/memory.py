"""The state that the hook handler keeps in memory for each session between two hook events.

A lost state costs one more read, never a message.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from maestro.core import limits
from maestro.services.mail import receipts


@dataclass
class Remembered:
    """The state of one session."""

    # Receipts of replies with mail that the model may not have read; None until the first read from the store.
    pending: list[str] | None = None
    being_shown: set[int] = field(default_factory=set)  # mail in undelivered replies
    # Mail that a running write marks as read: a simultaneous hook event must not treat the mail as unread.
    being_read: set[int] = field(default_factory=set)
    asking: int = 0  # hooks that wait for the person; two hooks may wait for the same call
    stops: int = 0  # consecutive stops that mail has delayed
    told_to_wait: str = ""  # the last wait instruction, until a prompt with another text
    owes_primer: bool = False
    model_was_asked: bool = False  # since the newest reply with mail
    refused_at: datetime | None = None  # when critical mail of an agent last refused a tool call
    heard_at: datetime | None = None  # when a hook event last reported a turn

    def unsaid(self, receipt: str) -> None:
        """Take back an undelivered reply. The writes of the reply may be missing too: read the receipts anew."""
        if receipt:
            self.being_shown -= receipts.places(receipt)
        self.pending = None


class Memory:
    """The states of the sessions with the most recent hook events."""

    def __init__(self) -> None:
        self._states: dict[str, Remembered] = {}

    def of(self, session_id: str) -> Remembered:
        state = self._states.pop(session_id, None) or Remembered()
        self._states[session_id] = state
        if len(self._states) > limits.hook_sessions_remembered_max:
            del self._states[next(iter(self._states))]
        return state

    def forget(self, session_id: str) -> None:
        self._states.pop(session_id, None)
