"""The repository of mail: messages, threads, attachments and the full-text index of messages."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from maestro.core import limits
from maestro.core.clock import to_micros
from maestro.domain.documents import StoredContent
from maestro.domain.messages import Attachment, Message, Sender, SenderKind
from maestro.store.decoding import Decoder
from maestro.store.repositories.documents import CONTENT
from maestro.store.rows import Rows

_encode = msgspec.json.Encoder().encode
_SENDER_KINDS = {kind.value: kind for kind in SenderKind}


class SearchText(msgspec.Struct, frozen=True):
    """The text of a message in the full-text index."""

    seq: int
    scope: str
    subject: str
    body: str | None
    blob: str | None


class SearchState(NamedTuple):
    """The sequence numbers of the last indexed message and of the last message."""

    indexed_to: int
    last_seq: int


class MessageHead(NamedTuple):
    """The id of a message, its sender and the sender's project."""

    id: str
    sender: str
    project_id: str | None


class OldMessage(NamedTuple):
    """A message that retention may delete."""

    seq: int
    id: str


def decode_sender(
    sender_kind: str,
    sender_id: str,
    sender_name: str,
    sender_address: str | None,
    human: str,
    sender_project: str | None,
) -> Sender:
    """Return the sender of a message from the columns of the message."""
    return Sender(_SENDER_KINDS[sender_kind], sender_id, sender_name, sender_address, human, sender_project)


_MESSAGE = Decoder(Message, sender=decode_sender)
_ATTACHMENT = Decoder(Attachment)
_SEARCH_TEXT = Decoder(SearchText)
_SEARCH_STATE = Decoder(SearchState)
_HEAD = Decoder(MessageHead)
_OLD_MESSAGE = Decoder(OldMessage)


class MailRepository:
    """Messages by id, thread, task, sender and full-text query."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        # The sequence number of the last message, in the writer: only the writer assigns sequence numbers.
        self._last_seq: int | None = None

    def clear_cache(self) -> None:
        """Clear the cache after a rollback: the last message may never have been stored."""
        self._last_seq = None

    def next_seq(self) -> int:
        """Return the sequence number of the next message. Retention keeps the newest: no number is used twice."""
        if self._last_seq is None:
            self._last_seq = int(self._rows.fetch_value("messages_last"))
        return self._last_seq + 1

    def insert(self, message: Message, content: StoredContent, *, project_id: str | None) -> None:
        """Insert a message with the number from `next_seq`. `content` is the whole body, `project_id` the sender's.

        The attachments are only counted here: each is inserted with its content.
        """
        self._rows.execute(
            "message_insert",
            seq=message.seq,
            id=message.id,
            thread_id=message.thread_id,
            parent_id=message.parent_id,
            project_id=project_id,
            type=message.type._value_,
            priority=message.priority.rank,
            subject=message.subject,
            body=message.body,
            blob=content.blob,
            bytes=content.size,
            task_id=message.task_id,
            sender=message.sender.id,
            sender_kind=message.sender.kind._value_,
            sender_title=message.sender.name,
            sender_address=message.sender.address,
            human=message.sender.human,
            recipients=_encode(message.to).decode(),
            scope=message.scope._value_ if message.scope else None,
            hops=message.hops,
            attachments=len(message.attachments),
            created_at=to_micros(message.created_at),
        )
        self._last_seq = message.seq

    def get(self, message_id: str) -> Message | None:
        return self._rows.fetch_first("message_get", _MESSAGE, id=message_id)

    def get_head(self, seq: int) -> MessageHead:
        head = self._rows.fetch_first("message_head", _HEAD, seq=seq)
        assert head is not None
        return head

    def body_blob_of(self, message_id: str) -> str | None:
        """Return the name of the content file that holds a long body; None for a body in the row."""
        blob: str | None = self._rows.fetch_value("message_blob", id=message_id)
        return blob

    def of_thread(self, thread_id: str, *, after: int, limit: int) -> list[Message]:
        return self._fetch_messages("messages_of_thread", thread_id=thread_id, after=after, limit=limit)

    def last_of_thread(self, thread_id: str) -> Message | None:
        """Return the last message of a thread, without its body."""
        return self._rows.fetch_first("message_last_of_thread", _MESSAGE, thread_id=thread_id)

    def of_task(self, task_id: str, *, before: int, limit: int) -> list[Message]:
        return self._fetch_messages("messages_of_task", task_id=task_id, before=before, limit=limit)

    def of_sender(self, sender: str, *, before: int, limit: int) -> list[Message]:
        values = {"sender": sender, "before": before, "limit": limit}
        return self._fetch_messages("messages_of_sender", body_chars=limits.inbox_body_chars_max, **values)

    def thread_of_task(self, task_id: str) -> str | None:
        thread_id: str | None = self._rows.fetch_value("thread_of_task", task_id=task_id)
        return thread_id

    def is_visible(self, message_id: str, project_id: str) -> bool:
        """Return whether a message was sent from a project or delivered in the project."""
        return self._rows.has_row("message_is_visible", id=message_id, project_id=project_id)

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

    def get_attachment(self, attachment_id: str) -> tuple[Attachment, StoredContent] | None:
        attachment = self._rows.fetch_first("attachment_get", _ATTACHMENT, id=attachment_id)
        content = self._rows.fetch_first("attachment_content", CONTENT, id=attachment_id)
        return (attachment, content) if attachment and content else None

    # Search

    def search_state(self) -> SearchState:
        state = self._rows.fetch_first("search_state", _SEARCH_STATE)
        assert state is not None
        return state

    def list_unindexed(self, *, after: int, limit: int) -> list[SearchText]:
        return self._rows.fetch_all("search_unindexed", _SEARCH_TEXT, after=after, limit=limit)

    def add_to_search_index(self, texts: Sequence[tuple[SearchText, str]]) -> None:
        """Add messages to the full-text index, each with its complete body."""
        self._rows.execute_many(
            "search_add",
            [{"seq": text.seq, "scope": text.scope, "subject": text.subject, "body": body} for text, body in texts],
        )
        if texts:
            self._rows.execute("search_state_move", indexed_to=texts[-1][0].seq)

    def search_messages(self, query: str, *, before: int, limit: int) -> list[Message]:
        """Return the newest messages that match an FTS query."""
        seqs = self._rows.fetch_values("search_find", query=query, before=before, limit=limit)
        values = {"seqs": _encode(seqs).decode(), "body_chars": limits.inbox_body_chars_max}
        return self._fetch_messages("messages_by_seq", **values) if seqs else []

    # Retention

    def list_old(self, *, after: int, before: datetime, limit: int) -> list[OldMessage]:
        """Return messages from before a time, oldest first, but never the newest message."""
        return self._rows.fetch_all("messages_old", _OLD_MESSAGE, after=after, before=to_micros(before), limit=limit)

    def has_open_delivery(self, seq: int) -> bool:
        return self._rows.has_row("message_is_open", message_seq=seq)

    def indexed_texts(self, seqs: Sequence[int]) -> list[SearchText]:
        return self._rows.fetch_all("search_known", _SEARCH_TEXT, seqs=_encode(seqs).decode())

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

    def _fetch_messages(self, name: str, **values: Any) -> list[Message]:
        return self._rows.fetch_page(name, _MESSAGE, **values)
