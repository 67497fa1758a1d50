"""The repository of deliveries: the messages in mailboxes, the state of each delivery, and claims of threads."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import msgspec

from maestro.core import limits
from maestro.core.clock import from_micros_or_none, to_micros
from maestro.domain.messages import (
    Attachment,
    Delivery,
    MessageStatus,
    MessageType,
    ReceiptStep,
    ReceivedMessage,
    SenderKind,
    ends_offer,
    is_shared_mailbox,
)
from maestro.domain.tasks import Priority
from maestro.store.repositories.mail import RANKS, MailRepository, message_fields
from maestro.store.rows import Row, Rows

_STATUSES = {status.value: status for status in MessageStatus}
_LOWEST_RANK = len(RANKS)


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
        self._mail = MailRepository(rows)

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
        rank, kind = RANKS[priority], type._value_
        rows = [
            {
                "box": box,
                "message_seq": seq,
                "priority": rank,
                "type": kind,
                "project_id": project_id,
                "reason": reason,
            }
            for box, project_id, reason in to
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
        name = "inbox_begun_shared" if is_shared_mailbox(mailbox) else "inbox_begun"
        return self._fetch_offered(name, mailbox, reader, wanted, after, limit)

    def list_all(self, mailbox: str, *, wanted: MessageFilter, before: int, limit: int) -> list[ReceivedMessage]:
        """Return all messages of a mailbox, also those that are no longer offered, newest first."""
        return self._fetch_received("inbox_all", box=mailbox, before=before, limit=limit, **_filter_values(wanted))

    def has_open(self, mailbox: str, *, priority: Priority = Priority.LOW) -> bool:
        return self._rows.fetch_first("inbox_has", box=mailbox, priority=RANKS[priority]) is not None

    def count_open(self, mailbox: str, *, reader: str) -> int:
        """Return the number of messages that are still to be offered to a reader, at most `limits.page_items_max`."""
        shared_values = {"reader": reader} if is_shared_mailbox(mailbox) else {}
        name = "inbox_count_shared" if shared_values else "inbox_count"
        row = self._rows.fetch_first(name, box=mailbox, limit=limits.page_items_max, **shared_values)
        return int(row[0]) if row else 0

    def of_message(self, seq: int) -> list[Delivery]:
        values = {"message_seq": seq, "limit": limits.broadcast_recipients_max}
        return [_decode_delivery(row) for row in self._rows.fetch_page("deliveries_of_message", **values)]

    def get(self, mailbox: str, seq: int) -> Delivery | None:
        row = self._rows.fetch_first("delivery_get", box=mailbox, message_seq=seq)
        return _decode_delivery(row) if row else None

    def apply_step(self, step: ReceiptStep, mailbox: str, seq: int, *, via: str, by: str, at: datetime) -> bool:
        """Advance a delivery by one step; return False if the delivery is not in the state before the step."""
        values: dict[str, Any] = {"box": mailbox, "message_seq": seq, "via": via, "by": by, "at": to_micros(at)}
        match step:
            case ReceiptStep.DELIVERED:
                return self._rows.execute("delivery_deliver", **values) == 1
            case ReceiptStep.READ:
                return self._rows.execute("delivery_read", open=int(not ends_offer(mailbox, step)), **values) == 1
            case ReceiptStep.ACKNOWLEDGED:
                return self._rows.execute("delivery_acknowledge", **values) == 1

    def expire(self, mailbox: str, seq: int, *, via: str, reason: str, at: datetime) -> bool:
        values = {"box": mailbox, "message_seq": seq, "via": via, "reason": reason, "at": to_micros(at)}
        return self._rows.execute("delivery_expire", **values) == 1

    def close(self, mailbox: str, seq: int) -> None:
        self._rows.execute("delivery_close", box=mailbox, message_seq=seq)

    def record_shared_read(
        self, session_id: str, mailbox: str, seq: int, *, at: datetime, is_partly_shown: bool = False
    ) -> None:
        """Record that a session was shown a message of a shared mailbox, completely or only its beginning."""
        values = {"session_id": session_id, "box": mailbox, "message_seq": seq, "at": to_micros(at)}
        self._rows.execute("shared_read_insert", begun=int(is_partly_shown), **values)

    def mark_partly_shown(self, mailbox: str, seq: int) -> None:
        """Record that the owner of a mailbox was shown the beginning of a message."""
        self._rows.execute("delivery_begin", box=mailbox, message_seq=seq)

    def claim_thread(self, thread_id: str, holder: str, *, at: datetime) -> bool:
        """Claim a thread for a holder; return False if the thread has a holder already."""
        return self._rows.execute("thread_claim", thread_id=thread_id, holder=holder, at=to_micros(at)) == 1

    def thread_holder(self, thread_id: str) -> str | None:
        row = self._rows.fetch_first("thread_holder", thread_id=thread_id)
        return row[0] if row else None

    def release_thread(self, thread_id: str, holder: str) -> bool:
        return self._rows.execute("thread_release", thread_id=thread_id, holder=holder) == 1

    def offer_thread_again(self, thread_id: str) -> None:
        """Offer the messages of a thread again, also to readers who have seen them."""
        self._rows.execute("thread_unsee", thread_id=thread_id)

    def shared_mailboxes_of_thread(self, thread_id: str) -> list[str]:
        """Return the shared mailboxes from which messages of a thread are still offered."""
        rows = self._rows.fetch_all("thread_boxes", thread_id=thread_id, limit=limits.broadcast_recipients_max)
        return [row[0] for row in rows if is_shared_mailbox(row[0])]

    def has_thread_in_mailbox(self, thread_id: str, mailbox: str) -> bool:
        """Return whether a message of a thread was ever delivered to a mailbox."""
        return self._rows.fetch_first("thread_is_in_box", thread_id=thread_id, box=mailbox) is not None

    def threads_held_by(self, holder: str, *, limit: int) -> list[str]:
        """Return the ids of the threads that a holder has claimed."""
        return [row[0] for row in self._rows.fetch_all("threads_held", holder=holder, limit=limit)]

    def _fetch_offered(
        self, name: str, mailbox: str, reader: str, wanted: MessageFilter, after: tuple[int, int], limit: int
    ) -> list[ReceivedMessage]:
        page = {"after_priority": after[0], "after_seq": after[1], "limit": limit}
        shared_values = {"reader": reader} if is_shared_mailbox(mailbox) else {}
        return self._fetch_received(name, box=mailbox, **page, **_filter_values(wanted), **shared_values)

    def _fetch_received(self, name: str, **values: Any) -> list[ReceivedMessage]:
        rows = self._rows.fetch_page(name, body_chars=limits.inbox_body_chars_max, **values)
        return [_decode_received(row, self._fetch_attachments(row)) for row in rows]

    def _fetch_attachments(self, row: Row) -> list[Attachment]:
        return self._mail.attachments_of(row[0]) if row[19] else []


def _filter_values(wanted: MessageFilter) -> dict[str, Any]:
    return {
        "type": wanted.type.value if wanted.type else None,
        "priority": RANKS[wanted.priority] if wanted.priority else _LOWEST_RANK,
        "task_id": wanted.task_id,
        "sender_kind": wanted.sender_kind.value if wanted.sender_kind else None,
    }


def _decode_received(row: Row, attachments: list[Attachment]) -> ReceivedMessage:
    return ReceivedMessage(
        **message_fields(row),
        body=row[23] or "",
        truncated=bool(row[24]),
        box=row[25],
        status=_STATUSES[row[26]],
        reason=row[27],
        claimed_by=row[28],
        begun=bool(row[29]),
        attachments=attachments,
    )


def _decode_delivery(row: Row) -> Delivery:
    return Delivery(
        recipient=row[0],
        box=row[0],
        status=_STATUSES[row[1]],
        via=row[2],
        by=row[3],
        reason=row[4],
        delivered_at=from_micros_or_none(row[5]),
        read_at=from_micros_or_none(row[6]),
        acknowledged_at=from_micros_or_none(row[7]),
        expired_at=from_micros_or_none(row[8]),
    )
