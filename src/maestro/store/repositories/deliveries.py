"""The repository of deliveries: the messages in mailboxes, the state of each delivery, and claims of threads."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import msgspec

from maestro.core import limits
from maestro.core.clock import maybe_time, to_micros
from maestro.domain.messages import Attachment, Delivery, Received, SenderKind, Status, Step, Type, closes, is_shared
from maestro.domain.tasks import Priority
from maestro.store.repositories.mail import RANKS, Mail, message_fields
from maestro.store.rows import Row, Rows

_STATUSES = {status.value: status for status in Status}
_LOWEST_RANK = len(RANKS)


class Wanted(msgspec.Struct, frozen=True):
    """A filter for the messages of a mailbox."""

    type: Type | None = None
    priority: Priority | None = None  # the lowest priority that passes
    task_id: str | None = None
    sender_kind: SenderKind | None = None


class Deliveries:
    """Deliveries by mailbox and message, and thread claims by thread and holder."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._mail = Mail(rows)

    def insert(
        self, box: str, seq: int, *, priority: Priority, type: Type, project_id: str | None, reason: str | None
    ) -> None:
        self.hand_out(seq, [(box, project_id, reason)], priority=priority, type=type)

    def hand_out(
        self, seq: int, to: Iterable[tuple[str, str | None, str | None]], *, priority: Priority, type: Type
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
        self._rows.many("delivery_insert", rows)

    def open_in(
        self, box: str, *, reader: str, wanted: Wanted, after: tuple[int, int] = (-1, 0), limit: int
    ) -> list[Received]:
        """Return the messages of a mailbox that are still to be offered to a reader, most urgent first."""
        name = "inbox_open_shared" if is_shared(box) else "inbox_open"
        return self._fetch_offered(name, box, reader, wanted, after, limit)

    def begun_in(
        self, box: str, *, reader: str, wanted: Wanted, after: tuple[int, int] = (-1, 0), limit: int
    ) -> list[Received]:
        """Return the messages of a mailbox of which a reader was shown only the beginning."""
        name = "inbox_begun_shared" if is_shared(box) else "inbox_begun"
        return self._fetch_offered(name, box, reader, wanted, after, limit)

    def all_in(self, box: str, *, wanted: Wanted, before: int, limit: int) -> list[Received]:
        """Return all messages of a mailbox, also those that are no longer offered, newest first."""
        return self._fetch_received("inbox_all", box=box, before=before, limit=limit, **_filter_values(wanted))

    def has_open(self, box: str, *, priority: Priority = Priority.LOW) -> bool:
        return self._rows.one("inbox_has", box=box, priority=RANKS[priority]) is not None

    def count_open(self, box: str, *, reader: str) -> int:
        """Return the number of messages that are still to be offered to a reader, at most `limits.page_items_max`."""
        shared_values = {"reader": reader} if is_shared(box) else {}
        name = "inbox_count_shared" if shared_values else "inbox_count"
        row = self._rows.one(name, box=box, limit=limits.page_items_max, **shared_values)
        return int(row[0]) if row else 0

    def of_message(self, seq: int) -> list[Delivery]:
        values = {"message_seq": seq, "limit": limits.broadcast_recipients_max}
        return [_decode_delivery(row) for row in self._rows.page("deliveries_of_message", **values)]

    def get(self, box: str, seq: int) -> Delivery | None:
        row = self._rows.one("delivery_get", box=box, message_seq=seq)
        return _decode_delivery(row) if row else None

    def take(self, step: Step, box: str, seq: int, *, via: str, by: str, at: datetime) -> bool:
        """Advance a delivery by one step; return False if the delivery is not in the state before the step."""
        values: dict[str, Any] = {"box": box, "message_seq": seq, "via": via, "by": by, "at": to_micros(at)}
        match step:
            case Step.DELIVERED:
                return self._rows.run("delivery_deliver", **values) == 1
            case Step.READ:
                return self._rows.run("delivery_read", open=int(not closes(box, step)), **values) == 1
            case Step.ACKNOWLEDGED:
                return self._rows.run("delivery_acknowledge", **values) == 1

    def expire(self, box: str, seq: int, *, via: str, reason: str, at: datetime) -> bool:
        values = {"box": box, "message_seq": seq, "via": via, "reason": reason, "at": to_micros(at)}
        return self._rows.run("delivery_expire", **values) == 1

    def close(self, box: str, seq: int) -> None:
        self._rows.run("delivery_close", box=box, message_seq=seq)

    def note_shared(self, session_id: str, box: str, seq: int, *, at: datetime, begun: bool = False) -> None:
        """Record that a session was shown a message of a shared mailbox, completely or only its beginning."""
        values = {"session_id": session_id, "box": box, "message_seq": seq, "at": to_micros(at)}
        self._rows.run("shared_read_insert", begun=int(begun), **values)

    def begin(self, box: str, seq: int) -> None:
        """Record that the owner of a mailbox was shown the beginning of a message."""
        self._rows.run("delivery_begin", box=box, message_seq=seq)

    def claim(self, thread_id: str, holder: str, *, at: datetime) -> bool:
        """Claim a thread for a holder; return False if the thread has a holder already."""
        return self._rows.run("thread_claim", thread_id=thread_id, holder=holder, at=to_micros(at)) == 1

    def holder(self, thread_id: str) -> str | None:
        row = self._rows.one("thread_holder", thread_id=thread_id)
        return row[0] if row else None

    def release(self, thread_id: str, holder: str) -> bool:
        return self._rows.run("thread_release", thread_id=thread_id, holder=holder) == 1

    def unsee(self, thread_id: str) -> None:
        """Offer the messages of a thread again, also to readers who have seen them."""
        self._rows.run("thread_unsee", thread_id=thread_id)

    def boxes_of_thread(self, thread_id: str) -> list[str]:
        """Return the shared mailboxes from which messages of a thread are still offered."""
        rows = self._rows.all("thread_boxes", thread_id=thread_id, limit=limits.broadcast_recipients_max)
        return [row[0] for row in rows if is_shared(row[0])]

    def has_come(self, thread_id: str, box: str) -> bool:
        """Return whether a message of a thread was ever delivered to a mailbox."""
        return self._rows.one("thread_is_in_box", thread_id=thread_id, box=box) is not None

    def held(self, holder: str, *, limit: int) -> list[str]:
        """Return the ids of the threads that a holder has claimed."""
        return [row[0] for row in self._rows.all("threads_held", holder=holder, limit=limit)]

    def _fetch_offered(
        self, name: str, mailbox: str, reader: str, wanted: Wanted, after: tuple[int, int], limit: int
    ) -> list[Received]:
        page = {"after_priority": after[0], "after_seq": after[1], "limit": limit}
        shared_values = {"reader": reader} if is_shared(mailbox) else {}
        return self._fetch_received(name, box=mailbox, **page, **_filter_values(wanted), **shared_values)

    def _fetch_received(self, name: str, **values: Any) -> list[Received]:
        rows = self._rows.page(name, body_chars=limits.inbox_body_chars_max, **values)
        return [_decode_received(row, self._fetch_attachments(row)) for row in rows]

    def _fetch_attachments(self, row: Row) -> list[Attachment]:
        return self._mail.attachments(row[0]) if row[19] else []


def _filter_values(wanted: Wanted) -> dict[str, Any]:
    return {
        "type": wanted.type.value if wanted.type else None,
        "priority": RANKS[wanted.priority] if wanted.priority else _LOWEST_RANK,
        "task_id": wanted.task_id,
        "sender_kind": wanted.sender_kind.value if wanted.sender_kind else None,
    }


def _decode_received(row: Row, attachments: list[Attachment]) -> Received:
    return Received(
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
        delivered_at=maybe_time(row[5]),
        read_at=maybe_time(row[6]),
        acknowledged_at=maybe_time(row[7]),
        expired_at=maybe_time(row[8]),
    )
