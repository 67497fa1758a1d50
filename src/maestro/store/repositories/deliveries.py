"""The repository of deliveries: the messages in mailboxes, the state of each delivery, and claims of threads."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import msgspec

from maestro.core import limits
from maestro.core.clock import to_micros
from maestro.domain.messages import (
    Delivery,
    MessageType,
    ReceiptStep,
    ReceivedMessage,
    SenderKind,
    ends_offer,
    is_shared_mailbox,
)
from maestro.domain.priorities import LOWEST_RANK, Priority
from maestro.store.decoding import Decoder
from maestro.store.repositories.mail import decode_sender
from maestro.store.rows import Rows

_RECEIVED = Decoder(ReceivedMessage, sender=decode_sender)
_DELIVERY = Decoder(Delivery)


class MessageFilter(msgspec.Struct, frozen=True):
    """A filter for the messages of a mailbox."""

    type: MessageType | None = None
    priority: Priority | None = None  # the lowest priority that passes
    task_id: str | None = None
    sender_kind: SenderKind | None = None


class DeliveryRepository:
    """Deliveries by mailbox and message, and thread claims by thread and holder."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def insert(
        self,
        mailbox: str,
        seq: int,
        *,
        priority: Priority,
        type: MessageType,
        project_id: str | None,
        reason: str | None,
    ) -> None:
        self.insert_many(seq, [(mailbox, project_id, reason)], priority=priority, type=type)

    def insert_many(
        self, seq: int, to: Iterable[tuple[str, str | None, str | None]], *, priority: Priority, type: MessageType
    ) -> None:
        """Put a message into mailboxes. `to` gives each mailbox with its project and the reason of the delivery."""
        rank, kind = priority.rank, type._value_
        rows = [
            {
                "mailbox": mailbox,
                "message_seq": seq,
                "priority": rank,
                "type": kind,
                "project_id": project_id,
                "reason": reason,
            }
            for mailbox, project_id, reason in to
        ]
        self._rows.execute_many("delivery_insert", rows)

    def list_offered(
        self, mailbox: str, *, reader: str, wanted: MessageFilter, after: tuple[int, int] = (-1, 0), limit: int
    ) -> list[ReceivedMessage]:
        """Return the messages of a mailbox that are still to be offered to a reader, most urgent first."""
        name = "inbox_open_shared" if is_shared_mailbox(mailbox) else "inbox_open"
        return self._fetch_offered(name, mailbox, reader, wanted, after, limit)

    def list_partly_shown(
        self, mailbox: str, *, reader: str, wanted: MessageFilter, after: tuple[int, int] = (-1, 0), limit: int
    ) -> list[ReceivedMessage]:
        """Return the messages of a mailbox of which a reader was shown only the beginning."""
        name = "inbox_partly_shown_shared" if is_shared_mailbox(mailbox) else "inbox_partly_shown"
        return self._fetch_offered(name, mailbox, reader, wanted, after, limit)

    def list_all(self, mailbox: str, *, wanted: MessageFilter, before: int, limit: int) -> list[ReceivedMessage]:
        """Return all messages of a mailbox, also those that are no longer offered, newest first."""
        return self._fetch_received(
            "inbox_all", mailbox=mailbox, before=before, limit=limit, **_filter_values(wanted)
        )

    def has_open(self, mailbox: str) -> bool:
        """Return whether a mailbox has an open delivery, of any priority."""
        return self._rows.has_row("inbox_has", mailbox=mailbox)

    def count_open(self, mailbox: str, *, reader: str) -> int:
        """Return the number of messages that are still to be offered to a reader, at most `limits.page_items_max`."""
        shared_values = {"reader": reader} if is_shared_mailbox(mailbox) else {}
        name = "inbox_count_shared" if shared_values else "inbox_count"
        return int(self._rows.fetch_value(name, mailbox=mailbox, limit=limits.page_items_max, **shared_values))

    def of_message(self, seq: int) -> list[Delivery]:
        values = {"message_seq": seq, "limit": limits.broadcast_recipients_max}
        return self._rows.fetch_page("deliveries_of_message", _DELIVERY, **values)

    def get(self, mailbox: str, seq: int) -> Delivery | None:
        return self._rows.fetch_first("delivery_get", _DELIVERY, mailbox=mailbox, message_seq=seq)

    def apply_step(self, step: ReceiptStep, mailbox: str, seq: int, *, via: str, by: str, at: datetime) -> bool:
        """Advance a delivery by one step; return False if the delivery is not in the state before the step."""
        values: dict[str, Any] = {"mailbox": mailbox, "message_seq": seq, "via": via, "by": by, "at": to_micros(at)}
        match step:
            case ReceiptStep.DELIVERED:
                return self._rows.execute("delivery_deliver", **values) == 1
            case ReceiptStep.READ:
                return self._rows.execute("delivery_read", open=int(not ends_offer(mailbox, step)), **values) == 1
            case ReceiptStep.ACKNOWLEDGED:
                return self._rows.execute("delivery_acknowledge", **values) == 1

    def expire(self, mailbox: str, seq: int, *, via: str, reason: str, at: datetime) -> bool:
        values = {"mailbox": mailbox, "message_seq": seq, "via": via, "reason": reason, "at": to_micros(at)}
        return self._rows.execute("delivery_expire", **values) == 1

    def close(self, mailbox: str, seq: int) -> None:
        self._rows.execute("delivery_close", mailbox=mailbox, message_seq=seq)

    def record_shared_read(
        self, session_id: str, mailbox: str, seq: int, *, at: datetime, is_partly_shown: bool = False
    ) -> None:
        """Record that a session was shown a message of a shared mailbox, completely or only its beginning."""
        values = {"session_id": session_id, "mailbox": mailbox, "message_seq": seq, "at": to_micros(at)}
        self._rows.execute("shared_read_insert", is_partly_shown=int(is_partly_shown), **values)

    def mark_partly_shown(self, mailbox: str, seq: int) -> None:
        """Record that the owner of a mailbox was shown the beginning of a message."""
        self._rows.execute("delivery_mark_partly_shown", mailbox=mailbox, message_seq=seq)

    def claim_thread(self, thread_id: str, holder: str, *, at: datetime) -> bool:
        """Claim a thread for a holder; return False if the thread has a holder already."""
        return self._rows.execute("thread_claim", thread_id=thread_id, holder=holder, at=to_micros(at)) == 1

    def thread_holder(self, thread_id: str) -> str | None:
        holder: str | None = self._rows.fetch_value("thread_holder", thread_id=thread_id)
        return holder

    def release_thread(self, thread_id: str, holder: str) -> bool:
        return self._rows.execute("thread_release", thread_id=thread_id, holder=holder) == 1

    def offer_thread_again(self, thread_id: str) -> None:
        """Offer the messages of a thread again, also to readers who have seen them."""
        self._rows.execute("thread_unsee", thread_id=thread_id)

    def shared_mailboxes_of_thread(self, thread_id: str) -> list[str]:
        """Return the shared mailboxes from which messages of a thread are still offered."""
        values = {"thread_id": thread_id, "limit": limits.broadcast_recipients_max}
        return [
            mailbox for mailbox in self._rows.fetch_values("thread_mailboxes", **values) if is_shared_mailbox(mailbox)
        ]

    def has_thread_in_mailbox(self, thread_id: str, mailbox: str) -> bool:
        """Return whether a message of a thread was ever delivered to a mailbox."""
        return self._rows.has_row("thread_is_in_mailbox", thread_id=thread_id, mailbox=mailbox)

    def threads_held_by(self, holder: str, *, limit: int) -> list[str]:
        """Return the ids of the threads that a holder has claimed."""
        return self._rows.fetch_values("threads_held", holder=holder, limit=limit)

    def _fetch_offered(
        self, name: str, mailbox: str, reader: str, wanted: MessageFilter, after: tuple[int, int], limit: int
    ) -> list[ReceivedMessage]:
        page = {"after_priority": after[0], "after_seq": after[1], "limit": limit}
        shared_values = {"reader": reader} if is_shared_mailbox(mailbox) else {}
        return self._fetch_received(name, mailbox=mailbox, **page, **_filter_values(wanted), **shared_values)

    def _fetch_received(self, name: str, **values: Any) -> list[ReceivedMessage]:
        return self._rows.fetch_page(name, _RECEIVED, body_chars=limits.inbox_body_chars_max, **values)


def _filter_values(wanted: MessageFilter) -> dict[str, Any]:
    return {
        "type": wanted.type.value if wanted.type else None,
        "priority": wanted.priority.rank if wanted.priority else LOWEST_RANK,
        "task_id": wanted.task_id,
        "sender_kind": wanted.sender_kind.value if wanted.sender_kind else None,
    }
