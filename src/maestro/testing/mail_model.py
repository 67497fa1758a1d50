"""What is to be offered to whom, as plainly as it can be put: a model of mail to hold a server against.

It knows no indexes, cursors or counters; everything is worked out anew each time it is asked.
"""

from __future__ import annotations

from dataclasses import dataclass, field

EVERYTHING = 99


@dataclass
class Letter:
    """A message; `rank` 0 is the most urgent."""

    seq: int
    thread: str
    sender: str
    rank: int


@dataclass
class MailModel:
    """Messages, the boxes they lie in, and who has seen or claimed them."""

    project: str
    letters: dict[str, Letter] = field(default_factory=dict)
    status: dict[tuple[str, str], str] = field(default_factory=dict)  # of (box, message): sent, read or closed
    shown: set[tuple[str, str, str]] = field(default_factory=set)  # (session, box, message)
    claims: dict[str, str] = field(default_factory=dict)  # who has a conversation
    boxes: dict[str, list[str]] = field(default_factory=dict)  # that a session looks into, its own first

    def is_offered(self, session: str, box: str, message: str) -> bool:
        status = self.status[box, message]
        if status == "closed" or (status == "read" and box != self.project):
            return False
        if box == session:
            return True
        letter = self.letters[message]
        is_taken = self.claims.get(letter.thread, session) != session
        return not is_taken and letter.sender != session and (session, box, message) not in self.shown

    def has_come(self, session: str, thread: str) -> bool:
        """Whether anything of a conversation lies, or lay, where a session looks."""
        return any(box in self.boxes[session] and self.letters[one].thread == thread for box, one in self.status)

    def offered(self, session: str, *, rank: int = EVERYTHING) -> list[str]:
        """Most urgent first, then as they came; this urgent or more."""
        found = {
            message
            for box, message in self.status
            if box in self.boxes[session]
            and self.letters[message].rank <= rank
            and self.is_offered(session, box, message)
        }
        return sorted(found, key=lambda one: (self.letters[one].rank, self.letters[one].seq))

    def confirm(self, session: str, messages: list[str]) -> None:
        """What came out came out, in whichever of its boxes it lay."""
        for message in messages:
            self._take(session, message, {"sent": "read"})

    def acknowledge(self, session: str, message: str) -> None:
        self._take(session, message, {"sent": "closed", "read": "closed"})

    def release(self, thread: str) -> None:
        """On offer again, also to those who had passed it by."""
        del self.claims[thread]
        of_thread = {message for message, letter in self.letters.items() if letter.thread == thread}
        self.shown = {one for one in self.shown if one[2] not in of_thread}

    def end(self, session: str, *, goes_to: str) -> None:
        """Its claims are free, and what it had not read goes to another."""
        for box, message in list(self.status):
            if box == session and self.status[box, message] == "sent":
                self.status[box, message] = "closed"
                self.status.setdefault((goes_to, message), "sent")
        for thread in [thread for thread, holder in self.claims.items() if holder == session]:
            self.release(thread)
        del self.boxes[session]

    def _take(self, session: str, message: str, moves: dict[str, str]) -> None:
        for box in self.boxes[session]:
            if (box, message) not in self.status:
                continue
            if box != session:
                self.shown.add((session, box, message))
            now = self.status[box, message]
            self.status[box, message] = moves.get(now, now)
