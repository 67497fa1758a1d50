"""Read mail: inboxes, whole messages, threads, attachments, the mail of a task and sent mail."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from maestro.core import errors, limits
from maestro.domain.callers import Caller
from maestro.domain.documents import StoredContent
from maestro.domain.messages import Message, MessageStatus, ReceivedMessage
from maestro.domain.sessions import Contact, contact_of
from maestro.domain.visibility import may_read
from maestro.operations import mail_shapes as ops
from maestro.services import cursors
from maestro.services.access.scope import find_project, find_task
from maestro.services.access.session_relations import caller_of_mailbox
from maestro.services.mail import receipts
from maestro.services.mail.create import own_mailboxes
from maestro.services.mail.threads import find_visible_message, may_see_message
from maestro.store.base import Store, Tx
from maestro.store.blobs import Blobs
from maestro.store.repositories.deliveries import MessageFilter

_InboxPosition = tuple[int, int]  # priority rank and sequence number, the sort order of a mailbox
_INBOX_START: _InboxPosition = (-1, 0)
_PARTLY_SHOWN = "b"  # prefix of a cursor into the partly shown messages
_UNREAD = (MessageStatus.SENT, MessageStatus.DELIVERED)


class MailReading:
    """Operations that read mail."""

    def __init__(self, store: Store, blobs: Blobs) -> None:
        self._store = store
        self._blobs = blobs

    async def read_inbox(self, caller: Caller, request: ops.ReadInbox) -> ops.InboxPage:
        """Return the unread mail of the caller. A receipt as cursor confirms the messages of the answer before."""
        page = ""
        if receipts.is_receipt(request.cursor):
            confirmation = ops.ConfirmReceipt(receipt=request.cursor)
            await self._store.write(lambda tx: receipts.confirm(tx, caller, confirmation), quick=True)
        else:
            page = request.cursor
        return await self._store.read(lambda tx: _read_inbox(tx, caller, request, page), quick=True)

    def show_message(self, tx: Tx, caller: Caller, request: ops.OneMessage) -> ops.MessageDetail:
        """Return a whole message. For a recipient the answer has a receipt that marks the message as read."""
        message = self._with_whole_body(tx, find_visible_message(tx, caller, request.id))
        own_deliveries = _own_deliveries(tx, caller, [message])
        return ops.MessageDetail(
            **msgspec.structs.asdict(message),
            deliveries=receipts.recipients_of(tx, message),
            claimed_by=tx.deliveries.thread_holder(message.thread_id),
            receipt=receipts.receipt_for(own_deliveries),
        )

    def show_thread(self, tx: Tx, caller: Caller, request: ops.OneThread) -> ops.Thread:
        """Return the thread of a message from its beginning, with the messages that the caller may see."""
        named_message = find_visible_message(tx, caller, request.id)
        return self.read_thread(tx, caller, named_message.thread_id, subject=named_message.subject)

    def read_thread(self, tx: Tx, caller: Caller, thread_id: str, *, subject: str = "") -> ops.Thread:
        """Return a thread by its own id; without messages if the caller may see none of them."""
        shown_max = limits.thread_messages_shown_max
        found = tx.mail.of_thread(thread_id, after=0, limit=shown_max + 1)
        shown = [
            self._with_whole_body(tx, message)
            for message in found[:shown_max]
            if may_see_message(tx, caller, message)
        ]
        return ops.Thread(
            thread_id=thread_id,
            subject=shown[0].subject if shown else subject,
            claimed_by=tx.deliveries.thread_holder(thread_id),
            messages=shown,
            truncated=len(found) > shown_max,
            receipt=receipts.receipt_for(_own_deliveries(tx, caller, shown)),
        )

    def read_attachment(self, tx: Tx, caller: Caller, request: ops.OneAttachment) -> ops.AttachmentContent:
        found = tx.mail.get_attachment(request.id)
        if found is None:
            raise errors.NotFound(
                f"There is no attachment {request.id!r}.",
                hint="`maestro mail show ID` lists the attachments of a message.",
            )
        attachment, content = found
        find_visible_message(tx, caller, attachment.message_id)
        return ops.AttachmentContent(**msgspec.structs.asdict(attachment), content=self._blobs.load_content(content))

    def list_task_mail(self, tx: Tx, caller: Caller, request: ops.TaskMail) -> ops.MessageList:
        """Return the mail about a task, newest first.

        A page leaves out the messages that the caller may not see. The cursor still leads to the next page.
        """
        task = find_task(tx, caller, request.id, project=request.project)
        found = tx.mail.of_task(
            task.id, before=cursors.parse_newest_first_cursor(request.cursor), limit=request.limit + 1
        )
        page, has_more = found[: request.limit], len(found) > request.limit
        seen = [self._with_whole_body(tx, message) for message in page if may_see_message(tx, caller, message)]
        return ops.MessageList(messages=seen, cursor=str(page[-1].seq) if has_more else None)

    def list_sent_mail(self, tx: Tx, caller: Caller, request: ops.SentPage) -> ops.SentList:
        """Return the messages that the caller sent, with the state of their deliveries."""
        found = tx.mail.of_sender(
            caller.name, before=cursors.parse_newest_first_cursor(request.cursor), limit=request.limit + 1
        )
        shown = [receipts.status_of_message(tx, message) for message in found[: request.limit]]
        next_cursor = str(found[request.limit - 1].seq) if len(found) > request.limit else None
        return ops.SentList(messages=shown, cursor=next_cursor)

    def read_project_inbox(self, tx: Tx, caller: Caller, request: ops.ProjectInbox) -> ops.InboxPage:
        """Return the mail of a project's mailbox, without marking any message as read."""
        project = find_project(tx, caller, request.project)
        if not may_read(caller, project.id):
            raise errors.NotPermitted(
                f"Only agents of {project.name} may read the inbox of {project.name}.",
                hint="Read your own mail: maestro mail inbox",
            )
        limit_with_next = request.limit + 1
        if request.all:
            found = tx.deliveries.list_all(
                project.id,
                wanted=MessageFilter(),
                before=cursors.parse_newest_first_cursor(request.cursor),
                limit=limit_with_next,
            )
        else:
            after = _parse_position(request.cursor) if request.cursor else _INBOX_START
            found = tx.deliveries.list_offered(
                project.id, reader="", wanted=MessageFilter(), after=after, limit=limit_with_next
            )
        shown = found[: request.limit]
        has_more = len(found) > request.limit
        cursor = (str(shown[-1].seq) if request.all else _format_position(shown[-1])) if has_more else None
        return ops.InboxPage(messages=shown, more=has_more, cursor=cursor)

    def _with_whole_body(self, tx: Tx, message: Message) -> Message:
        """Return a message with its whole body, from the message row or from the blob file."""
        blob = tx.mail.body_blob_of(message.id) if message.truncated else None
        if blob is None:
            return message
        body = self._blobs.load_content(StoredContent(None, blob, 0, blob)).decode()
        return msgspec.structs.replace(message, body=body, truncated=False)


def find_unread(
    tx: Tx, caller: Caller, wanted: MessageFilter, *, cursor: str = "", limit: int
) -> list[ReceivedMessage]:
    """Return the unread mail of a caller: first messages not shown at all, then partly shown messages."""
    if cursor.startswith(_PARTLY_SHOWN):
        return _partly_shown(
            tx, caller, wanted, after=_parse_position(cursor.removeprefix(_PARTLY_SHOWN)), limit=limit
        )
    found = find_unshown(tx, caller, wanted, after=_parse_position(cursor) if cursor else _INBOX_START, limit=limit)
    return found + _partly_shown(tx, caller, wanted, limit=limit - len(found)) if len(found) < limit else found


def find_unshown(
    tx: Tx, caller: Caller, wanted: MessageFilter, *, after: _InboxPosition = _INBOX_START, limit: int
) -> list[ReceivedMessage]:
    """Return the messages that were not shown to the caller at all, most urgent first, then oldest first."""
    return _merge_mailboxes(
        caller,
        limit,
        lambda mailbox: tx.deliveries.list_offered(
            mailbox, reader=caller.name, wanted=wanted, after=after, limit=limit
        ),
    )


def _partly_shown(
    tx: Tx, caller: Caller, wanted: MessageFilter, *, after: _InboxPosition = _INBOX_START, limit: int
) -> list[ReceivedMessage]:
    return _merge_mailboxes(
        caller,
        limit,
        lambda mailbox: tx.deliveries.list_partly_shown(
            mailbox, reader=caller.name, wanted=wanted, after=after, limit=limit
        ),
    )


def _merge_mailboxes(
    caller: Caller, limit: int, messages_in: Callable[[str], list[ReceivedMessage]]
) -> list[ReceivedMessage]:
    """Merge the caller's mailboxes into a single list.

    A message in several mailboxes appears once, from the nearest mailbox.
    """
    mailboxes = own_mailboxes(caller)
    found = [message for mailbox in mailboxes for message in messages_in(mailbox)]
    if len(mailboxes) > 1:
        found = list({message.seq: message for message in reversed(found)}.values())
        found.sort(key=lambda message: (message.priority.rank, message.seq))
    return found[:limit]


def coordinator_contact(tx: Tx, caller: Caller) -> Contact | None:
    """Return the caller's coordinator with the time of its last sign of life."""
    parent = tx.sessions.get(caller.parent_id) if caller.parent_id else None
    return contact_of(parent, at=tx.at, seconds=limits.presence_online_seconds_max) if parent else None


def message_filter(tx: Tx, caller: Caller, request: ops.ReadInbox | ops.WaitMail) -> MessageFilter:
    task = find_task(tx, caller, request.task, project=request.project) if request.task else None
    return MessageFilter(request.type, request.priority, task.id if task else None)


def inbox_answer(
    shown: list[ReceivedMessage], *, peek: bool, has_more: bool, coordinator: Contact | None
) -> ops.InboxPage:
    """Return an inbox of unread messages and their receipt. A peek has no receipt, only a cursor to the next page."""
    shown = _cut_bodies(shown)
    receipt = "" if peek else receipts.receipt_for(shown)
    cursor = receipt or (_format_position(shown[-1]) if has_more and shown else None)
    return ops.InboxPage(messages=shown, more=has_more, receipt=receipt, cursor=cursor, coordinator=coordinator)


def _read_inbox(tx: Tx, caller: Caller, request: ops.ReadInbox, cursor: str) -> ops.InboxPage:
    wanted = message_filter(tx, caller, request)
    owner = caller_of_mailbox(tx, caller, request.of, project=request.project) if request.of else caller
    peek = request.peek or owner is not caller
    if request.all:
        before = _parse_position(cursor)[1] if cursor else cursors.NEWEST
        page = _read_history(tx, owner, wanted, before=before, limit=request.limit, peek=peek)
    else:
        found = find_unread(tx, owner, wanted, cursor=cursor, limit=request.limit + 1)
        has_more = len(found) > request.limit
        page = inbox_answer(found[: request.limit], peek=peek, has_more=has_more, coordinator=None)
    return msgspec.structs.replace(page, coordinator=coordinator_contact(tx, caller), grouped=request.thread)


def _read_history(
    tx: Tx, owner: Caller, wanted: MessageFilter, *, before: int, limit: int, peek: bool
) -> ops.InboxPage:
    """Return all mail that the owner received, newest first, with a receipt for the unread messages."""
    found = [
        message
        for mailbox in own_mailboxes(owner)
        for message in tx.deliveries.list_all(mailbox, wanted=wanted, before=before, limit=limit + 1)
    ]
    ordered = sorted({message.seq: message for message in reversed(found)}.values(), key=lambda message: -message.seq)
    shown, has_more = _cut_bodies(ordered[:limit]), len(ordered) > limit
    unread_messages = [message for message in shown if message.status in _UNREAD]
    receipt = "" if peek else receipts.receipt_for(unread_messages)
    return ops.InboxPage(
        messages=shown, more=has_more, receipt=receipt, cursor=_format_position(shown[-1]) if has_more else None
    )


def _cut_bodies(shown: list[ReceivedMessage]) -> list[ReceivedMessage]:
    """Cut bodies to a limit for the whole page. A message with a cut body stays unread until it is shown whole."""
    chars_left, kept = limits.inbox_chars_max, []
    for message in shown:
        if len(message.body) > chars_left:
            message = msgspec.structs.replace(message, body=message.body[:chars_left], truncated=True)
        chars_left -= len(message.body)
        kept.append(message)
    return kept


def _own_deliveries(tx: Tx, caller: Caller, messages: list[Message]) -> list[ReceivedMessage]:
    """Return the deliveries of messages in the caller's own mailboxes."""
    found = []
    for message in messages:
        for mailbox in own_mailboxes(caller):
            delivery = tx.deliveries.get(mailbox, message.seq)
            if delivery is not None:
                fields = msgspec.structs.asdict(message)
                found.append(
                    ReceivedMessage(**fields, mailbox=mailbox, status=delivery.status, reason=None, claimed_by=None)
                )
    return found


def _format_position(message: ReceivedMessage) -> str:
    return f"{_PARTLY_SHOWN if message.is_partly_shown else ''}{message.priority.rank}.{message.seq}"


def _parse_position(cursor: str) -> tuple[int, int]:
    rank, _, seq = cursor.partition(".")
    if not (rank.isascii() and rank.isdigit() and seq.isascii() and seq.isdigit() and len(cursor) < 30):
        raise errors.Invalid(
            f"{cursor[:40]!r} is not a cursor of this list.", hint="Use the `cursor` of the page before."
        )
    return int(rank), int(seq)
