"""A plain model of mail for comparison with a server: which messages each session is offered.

The model has no indexes, cursors or counters. It computes each answer from the whole state.
"""

from __future__ import annotations

from dataclasses import dataclass, field

EVERYTHING = 99


@dataclass
class ModelMessage:
    """A message; `rank` 0 is the most urgent."""

    seq: int
    thread: str
    sender: str
    rank: int


@dataclass
class MailModel:
    """Messages, their mailboxes, and the sessions that have seen or claimed them."""

    project: str
    messages: dict[str, ModelMessage] = field(default_factory=dict)
    status: dict[tuple[str, str], str] = field(default_factory=dict)  # by (mailbox, message): sent, read or closed
    shown: set[tuple[str, str, str]] = field(default_factory=set)  # (session, mailbox, message)
    claims: dict[str, str] = field(default_factory=dict)  # the session that has claimed a thread
    mailboxes: dict[str, list[str]] = field(default_factory=dict)  # the mailboxes of a session, its own mailbox first

    def is_offered(self, session: str, mailbox: str, message: str) -> bool:
        status = self.status[mailbox, message]
        if status == "closed" or (status == "read" and mailbox != self.project):
            return False
        if mailbox == session:
            return True
        sent = self.messages[message]
        is_taken = self.claims.get(sent.thread, session) != session
        return not is_taken and sent.sender != session and (session, mailbox, message) not in self.shown

    def has_received_thread(self, session: str, thread: str) -> bool:
        """Return whether a message of a thread is, or was, in a mailbox of the session."""
        return any(
            mailbox in self.mailboxes[session] and self.messages[message].thread == thread
            for mailbox, message in self.status
        )

    def offered_messages(self, session: str, *, rank: int = EVERYTHING) -> list[str]:
        """Return the offered messages of this rank or a more urgent rank: by urgency, then by sequence number."""
        found = {
            message
            for mailbox, message in self.status
            if mailbox in self.mailboxes[session]
            and self.messages[message].rank <= rank
            and self.is_offered(session, mailbox, message)
        }
        return sorted(found, key=lambda message: (self.messages[message].rank, self.messages[message].seq))

    def confirm_messages(self, session: str, messages: list[str]) -> None:
        """Mark messages as read, in every mailbox of the session that holds them."""
        for message in messages:
            self._move_deliveries(session, message, {"sent": "read"})

    def acknowledge_message(self, session: str, message: str) -> None:
        self._move_deliveries(session, message, {"sent": "closed", "read": "closed"})

    def release_thread(self, thread: str) -> None:
        """Free a thread. The messages of the thread are offered again, also to sessions that have seen them."""
        del self.claims[thread]
        of_thread = {message for message, sent in self.messages.items() if sent.thread == thread}
        self.shown = {shown for shown in self.shown if shown[2] not in of_thread}

    def end_session(self, session: str, *, goes_to: str) -> None:
        """End a session: free its claims, and move its unread mail to another mailbox."""
        for mailbox, message in list(self.status):
            if mailbox == session and self.status[mailbox, message] == "sent":
                self.status[mailbox, message] = "closed"
                self.status.setdefault((goes_to, message), "sent")
        for thread in [thread for thread, holder in self.claims.items() if holder == session]:
            self.release_thread(thread)
        del self.mailboxes[session]

    def _move_deliveries(self, session: str, message: str, moves: dict[str, str]) -> None:
        for mailbox in self.mailboxes[session]:
            if (mailbox, message) not in self.status:
                continue
            if mailbox != session:
                self.shown.add((session, mailbox, message))
            now = self.status[mailbox, message]
            self.status[mailbox, message] = moves.get(now, now)
