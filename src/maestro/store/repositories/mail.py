"""The repository of mail: messages, threads, attachments and the full-text index of messages."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

from maestro.core import limits
from maestro.core.clock import from_micros, to_micros
from maestro.domain.documents import StoredContent
from maestro.domain.messages import Attachment, BroadcastScope, Message, MessageType, Sender, SenderKind
from maestro.domain.tasks import Priority
from maestro.store.rows import Row, Rows

_encode = msgspec.json.Encoder().encode
_decode_texts = msgspec.json.Decoder(list[str]).decode
PRIORITIES = tuple(Priority)
RANKS = {priority: rank for rank, priority in enumerate(Priority)}
_TYPES = {kind.value: kind for kind in MessageType}
_SENDER_KINDS = {kind.value: kind for kind in SenderKind}


class NewMessage(msgspec.Struct, frozen=True):
    """A message that is to be stored."""

    id: str
    thread_id: str
    parent_id: str | None
    project_id: str | None
    type: MessageType
    priority: Priority
    subject: str
    body: StoredContent
    preview: str  # the beginning of a body that is stored in a file
    task_id: str | None
    sender: Sender
    to: list[str]
    scope: BroadcastScope | None
    hops: int
    attachments: int
    created_at: datetime


class SearchText(msgspec.Struct, frozen=True):
    """The text of a message in the full-text index."""

    seq: int
    scope: str
    subject: str
    body: str | None
    blob: str | None


class MailRepository:
    """Messages by id, thread, task, sender and full-text query."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        # The sequence number of the last message, in the writer: only the writer assigns sequence numbers.
        self._last_seq: int | None = None

    def clear_cache(self) -> None:
        """Clear the cache after a rollback: the last message may never have been stored."""
        self._last_seq = None

    def insert(self, message: NewMessage) -> int:
        """Insert a message; return its sequence number."""
        body = message.body
        seq = self._next_seq()
        self._rows.execute(
            "message_insert",
            seq=seq,
            id=message.id,
            thread_id=message.thread_id,
            parent_id=message.parent_id,
            project_id=message.project_id,
            type=message.type._value_,
            priority=RANKS[message.priority],
            subject=message.subject,
            body=body.body.decode() if body.body is not None else message.preview,
            blob=body.blob,
            bytes=body.size,
            task_id=message.task_id,
            sender=message.sender.id,
            sender_kind=message.sender.kind._value_,
            sender_title=message.sender.name,
            sender_address=message.sender.address,
            human=message.sender.human,
            recipients=_encode(message.to).decode(),
            scope=message.scope._value_ if message.scope else None,
            hops=message.hops,
            attachments=message.attachments,
            created_at=to_micros(message.created_at),
        )
        self._last_seq = seq
        return seq

    def get(self, message_id: str) -> Message | None:
        row = self._rows.fetch_first("message_get", id=message_id)
        return self._decode_message(row) if row else None

    def get_head(self, seq: int) -> tuple[str, str, str | None]:
        """Return the id of a message, its sender and the sender's project."""
        row = self._rows.fetch_first("message_head", seq=seq)
        assert row is not None
        return row[0], row[1], row[2]

    def body_blob_of(self, message_id: str) -> str | None:
        """Return the name of the content file that holds a long body; None for a body in the row."""
        row = self._rows.fetch_first("message_get", id=message_id)
        return row[21] if row else None

    def of_thread(self, thread_id: str, *, after: int, limit: int) -> list[Message]:
        return self._fetch_messages("messages_of_thread", thread_id=thread_id, after=after, limit=limit)

    def last_of_thread(self, thread_id: str) -> Message | None:
        """Return the last message of a thread, without its body."""
        row = self._rows.fetch_first("message_last_of_thread", thread_id=thread_id)
        return self._decode_message(row) if row else None

    def of_task(self, task_id: str, *, before: int, limit: int) -> list[Message]:
        return self._fetch_messages("messages_of_task", task_id=task_id, before=before, limit=limit)

    def of_sender(self, sender: str, *, before: int, limit: int) -> list[Message]:
        values = {"sender": sender, "before": before, "limit": limit}
        return self._fetch_messages("messages_of_sender", body_chars=limits.inbox_body_chars_max, **values)

    def thread_of_task(self, task_id: str) -> str | None:
        row = self._rows.fetch_first("thread_of_task", task_id=task_id)
        return row[0] if row else None

    def is_visible(self, message_id: str, project_id: str) -> bool:
        """Return whether a message was sent from a project or delivered in the project."""
        return self._rows.fetch_first("message_is_visible", id=message_id, project_id=project_id) is not None

    def insert_attachment(self, attachment: Attachment, content: StoredContent) -> None:
        self._rows.execute(
            "attachment_insert",
            id=attachment.id,
            message_id=attachment.message_id,
            file_name=attachment.file_name,
            bytes=attachment.bytes,
            sha256=attachment.sha256,
            body=content.body,
            blob=content.blob,
        )

    def attachments_of(self, message_id: str) -> list[Attachment]:
        return [Attachment(*row) for row in self._rows.fetch_all("attachments_of_message", message_id=message_id)]

    def get_attachment(self, attachment_id: str) -> tuple[Attachment, StoredContent] | None:
        row = self._rows.fetch_first("attachment_get", id=attachment_id)
        if row is None:
            return None
        return Attachment(*row[:5]), StoredContent(row[5], row[6], row[3], row[4])

    # Search

    def search_state(self) -> tuple[int, int]:
        """Return the sequence numbers of the last indexed message and of the last message."""
        row = self._rows.fetch_first("search_state")
        assert row is not None
        return row[0], row[1]

    def list_unindexed(self, *, after: int, limit: int) -> list[SearchText]:
        return [SearchText(*row) for row in self._rows.fetch_all("search_unindexed", after=after, limit=limit)]

    def add_to_search_index(self, texts: Sequence[tuple[SearchText, str]]) -> None:
        """Add messages to the full-text index, each with its complete body."""
        self._rows.execute_many(
            "search_add",
            [
                {"seq": words.seq, "scope": words.scope, "subject": words.subject, "body": body}
                for words, body in texts
            ],
        )
        if texts:
            self._rows.execute("search_state_move", indexed_to=texts[-1][0].seq)

    def search_messages(self, query: str, *, before: int, limit: int) -> list[Message]:
        """Return the newest messages that match an FTS query."""
        seqs = [row[0] for row in self._rows.fetch_all("search_find", query=query, before=before, limit=limit)]
        values = {"seqs": _encode(seqs).decode(), "body_chars": limits.inbox_body_chars_max}
        return self._fetch_messages("messages_by_seq", **values) if seqs else []

    # Retention

    def list_old(self, *, after: int, before: datetime, limit: int) -> list[tuple[int, str]]:
        rows = self._rows.fetch_all("messages_old", after=after, before=to_micros(before), limit=limit)
        return [(row[0], row[1]) for row in rows]

    def has_open_delivery(self, seq: int) -> bool:
        return self._rows.fetch_first("message_is_open", message_seq=seq) is not None

    def indexed_texts(self, seqs: Sequence[int]) -> list[SearchText]:
        return [SearchText(*row) for row in self._rows.fetch_all("search_known", seqs=_encode(seqs).decode())]

    def delete(self, text: SearchText, message_id: str, *, body: str, is_indexed: bool) -> None:
        """Delete a message with its attachments, deliveries, shared reads and index entry.

        The claim of the thread goes with the thread's last message.
        """
        if is_indexed:
            self._rows.execute("search_remove", seq=text.seq, scope=text.scope, subject=text.subject, body=body)
        self._rows.execute("message_delete_attachments", message_id=message_id)
        dependent_rows = ("message_delete_deliveries", "message_delete_shared_reads", "message_delete_claim")
        for name in (*dependent_rows, "message_delete"):
            self._rows.execute(name, message_seq=text.seq)

    def _next_seq(self) -> int:
        """Return the next sequence number. Retention keeps the newest message, so no number is used twice."""
        if self._last_seq is None:
            row = self._rows.fetch_first("messages_last")
            assert row is not None
            self._last_seq = int(row[0])
        return self._last_seq + 1

    def _fetch_messages(self, name: str, **values: Any) -> list[Message]:
        return [self._decode_message(row) for row in self._rows.fetch_page(name, **values)]

    def _decode_message(self, row: Row) -> Message:
        attachments = self.attachments_of(row[0]) if row[19] else []
        return Message(**message_fields(row), body=row[23] or "", truncated=bool(row[24]), attachments=attachments)


def message_fields(row: Row) -> dict[str, Any]:
    """Return the fields of a message from its row, without body and attachments."""
    return {
        "id": row[0],
        "seq": row[1],
        "thread_id": row[2],
        "parent_id": row[3],
        "type": _TYPES[row[4]],
        "priority": PRIORITIES[row[5]],
        "subject": row[6],
        "sender": Sender(_SENDER_KINDS[row[7]], row[8], row[9], row[10], row[11], row[12]),
        "to": _decode_texts(row[13]),
        "scope": BroadcastScope(row[14]) if row[14] else None,
        "task_id": row[15],
        "task": f"{row[16]}#{row[17]}" if row[16] else None,
        "hops": row[18],
        "created_at": from_micros(row[20]),
    }
