"""What is remembered of each session between two of its hooks. Losing it costs a repeated look, never a message."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from maestro.core import limits
from maestro.services.mail import receipts


@dataclass
class Remembered:
    """One session."""

    # Answers with mail that are not known to be read; None while nobody has looked them up since the server started.
    pending: list[str] | None = None
    being_shown: set[int] = field(default_factory=set)  # mail in an answer that is on its way
    # Mail that is being marked as read: a hook of the same moment must not take it for unread.
    being_read: set[int] = field(default_factory=set)
    asking: int = 0  # hooks that wait for the person, who may be asked by two of them for the same call
    stops: int = 0  # in a row that mail held up
    told_to_wait: str = ""  # since it was last told anything else
    owes_primer: bool = False
    model_was_asked: bool = False  # since the newest answer with mail
    refused_at: datetime | None = None  # when critical mail of an agent last refused a tool call
    heard_at: datetime | None = None  # when one of its hooks told last whose turn it is

    def unsaid(self, receipt: str) -> None:
        """An answer was never given, and what was to be written with it may not have been: it is looked up anew."""
        if receipt:
            self.being_shown -= receipts.places(receipt)
        self.pending = None


class Memory:
    """All of them, the most recent ones."""

    def __init__(self) -> None:
        self._of: dict[str, Remembered] = {}

    def of(self, session_id: str) -> Remembered:
        found = self._of.pop(session_id, None) or Remembered()
        self._of[session_id] = found
        if len(self._of) > limits.hook_sessions_remembered_max:
            del self._of[next(iter(self._of))]
        return found

    def forget(self, session_id: str) -> None:
        self._of.pop(session_id, None)
