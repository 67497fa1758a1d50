"""Looking at mail: inboxes, whole messages, conversations, a task's mail, what one has sent."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from maestro.core import errors, limits
from maestro.domain.callers import Caller
from maestro.domain.documents import Content
from maestro.domain.messages import Message, Received, Status
from maestro.domain.sessions import Contact, contact
from maestro.domain.sight import may_read
from maestro.operations import mail_shapes as ops
from maestro.services import cursors
from maestro.services.mail import receipts
from maestro.services.mail.post import own_boxes
from maestro.services.mail.threads import may_see, message_of
from maestro.services.scope import project_of, task_of
from maestro.services.sessions.kin import may_look_into
from maestro.store.base import Store, Tx
from maestro.store.blobs import Blobs
from maestro.store.repositories.deliveries import Wanted
from maestro.store.repositories.mail import RANKS

_Place = tuple[int, int]  # priority and number, as boxes are sorted
_NOWHERE: _Place = (-1, 0)
_BEGUN = "b"  # before the cursor of a page that shows what was begun
_UNREAD = (Status.SENT, Status.DELIVERED)


class Reading:
    """Mail as its readers see it."""

    def __init__(self, store: Store, blobs: Blobs) -> None:
        self._store = store
        self._blobs = blobs

    async def inbox(self, caller: Caller, request: ops.ReadInbox) -> ops.Inbox:
        """What is unread. The cursor of the answer before says that its messages have come out."""
        page = ""
        if receipts.is_receipt(request.cursor):
            given = ops.Confirm(receipt=request.cursor)
            await self._store.write(lambda tx: receipts.confirm(tx, caller, given), quick=True)
        else:
            page = request.cursor
        return await self._store.read(lambda tx: _inbox(tx, caller, request, page), quick=True)

    def show(self, tx: Tx, caller: Caller, request: ops.OneMessage) -> ops.MessageDetail:
        """A whole message; for a recipient it counts as read once it has come out."""
        message = self._whole(tx, message_of(tx, caller, request.id))
        mine = _as_received(tx, caller, [message])
        return ops.MessageDetail(
            **msgspec.structs.asdict(message),
            deliveries=receipts.recipients(tx, message),
            claimed_by=tx.deliveries.holder(message.thread_id),
            receipt=receipts.receipt_for(mine),
        )

    def thread(self, tx: Tx, caller: Caller, request: ops.OneThread) -> ops.Thread:
        """A conversation from its beginning, as far as the caller may see it."""
        asked = message_of(tx, caller, request.id)
        return self.conversation(tx, caller, asked.thread_id, subject=asked.subject)

    def conversation(self, tx: Tx, caller: Caller, thread_id: str, *, subject: str = "") -> ops.Thread:
        """A conversation by its own id; empty for whoever may see nothing of it."""
        many = limits.thread_messages_shown_max
        found = tx.mail.of_thread(thread_id, after=0, limit=many + 1)
        shown = [self._whole(tx, message) for message in found[:many] if may_see(tx, caller, message)]
        return ops.Thread(
            thread_id=thread_id,
            subject=shown[0].subject if shown else subject,
            claimed_by=tx.deliveries.holder(thread_id),
            messages=shown,
            truncated=len(found) > many,
            receipt=receipts.receipt_for(_as_received(tx, caller, shown)),
        )

    def attachment(self, tx: Tx, caller: Caller, request: ops.OneAttachment) -> ops.AttachmentContent:
        found = tx.mail.attachment(request.id)
        if found is None:
            raise errors.NotFound(f"There is no attachment {request.id!r}.")
        attachment, content = found
        message_of(tx, caller, attachment.message_id)
        return ops.AttachmentContent(**msgspec.structs.asdict(attachment), content=self._blobs.load(content))

    def of_task(self, tx: Tx, caller: Caller, request: ops.TaskMail) -> ops.MessageList:
        """All mail about a task, newest first; it goes on also where the caller may not see some of it."""
        task = task_of(tx, caller, request.id, project=request.project)
        found = tx.mail.of_task(task.id, before=cursors.before(request.cursor), limit=request.limit + 1)
        page, more = found[: request.limit], len(found) > request.limit
        seen = [self._whole(tx, message) for message in page if may_see(tx, caller, message)]
        return ops.MessageList(messages=seen, cursor=str(page[-1].seq) if more else None)

    def sent(self, tx: Tx, caller: Caller, request: ops.SentPage) -> ops.SentList:
        """What the caller wrote, and how far it has come."""
        found = tx.mail.of_sender(caller.name, before=cursors.before(request.cursor), limit=request.limit + 1)
        shown = [receipts.status_of(tx, message) for message in found[: request.limit]]
        more = str(found[request.limit - 1].seq) if len(found) > request.limit else None
        return ops.SentList(messages=shown, cursor=more)

    def project_inbox(self, tx: Tx, caller: Caller, request: ops.ProjectInbox) -> ops.Inbox:
        """A project's box as anyone of the project sees it; looking changes nothing."""
        project = project_of(tx, caller, request.project)
        if not may_read(caller, project.id):
            raise errors.NotPermitted(f"Only agents of {project.name} look into its inbox.")
        many = request.limit + 1
        if request.all:
            found = tx.deliveries.all_in(
                project.id, wanted=Wanted(), before=cursors.before(request.cursor), limit=many
            )
        else:
            after = _position(request.cursor) if request.cursor else _NOWHERE
            found = tx.deliveries.open_in(project.id, reader="", wanted=Wanted(), after=after, limit=many)
        shown = found[: request.limit]
        more = len(found) > request.limit
        cursor = (str(shown[-1].seq) if request.all else _place(shown[-1])) if more else None
        return ops.Inbox(messages=shown, more=more, cursor=cursor)

    def _whole(self, tx: Tx, message: Message) -> Message:
        """A message with its body, wherever that lies."""
        blob = tx.mail.blob_of(message.id) if message.truncated else None
        if blob is None:
            return message
        body = self._blobs.load(Content(None, blob, 0, blob)).decode()
        return msgspec.structs.replace(message, body=body, truncated=False)


def unread(tx: Tx, caller: Caller, wanted: Wanted, *, cursor: str = "", limit: int) -> list[Received]:
    """What is to be offered to a caller; what it was shown the beginning of stands in the way of nothing else."""
    if cursor.startswith(_BEGUN):
        return _begun(tx, caller, wanted, after=_position(cursor.removeprefix(_BEGUN)), limit=limit)
    found = fresh(tx, caller, wanted, after=_position(cursor) if cursor else _NOWHERE, limit=limit)
    return found + _begun(tx, caller, wanted, limit=limit - len(found)) if len(found) < limit else found


def fresh(tx: Tx, caller: Caller, wanted: Wanted, *, after: _Place = _NOWHERE, limit: int) -> list[Received]:
    """What a caller was shown nothing of, from all its boxes, most urgent first, oldest first."""
    return _merged(
        caller,
        limit,
        lambda box: tx.deliveries.open_in(box, reader=caller.name, wanted=wanted, after=after, limit=limit),
    )


def _begun(tx: Tx, caller: Caller, wanted: Wanted, *, after: _Place = _NOWHERE, limit: int) -> list[Received]:
    return _merged(
        caller,
        limit,
        lambda box: tx.deliveries.begun_in(box, reader=caller.name, wanted=wanted, after=after, limit=limit),
    )


def _merged(caller: Caller, limit: int, in_box: Callable[[str], list[Received]]) -> list[Received]:
    """All of a caller's boxes as one; a message that came to two of them is shown once, from the nearest."""
    boxes = own_boxes(caller)
    found = [message for box in boxes for message in in_box(box)]
    if len(boxes) > 1:
        found = list({message.seq: message for message in reversed(found)}.values())
        found.sort(key=lambda message: (RANKS[message.priority], message.seq))
    return found[:limit]


def coordinator_contact(tx: Tx, caller: Caller) -> Contact | None:
    """A session's coordinator, and how long ago it was heard of."""
    parent = tx.sessions.get(caller.parent_id) if caller.parent_id else None
    return contact(parent, at=tx.at, seconds=limits.session_lease_seconds) if parent else None


def wanted_by(tx: Tx, caller: Caller, request: ops.ReadInbox | ops.WaitMail) -> Wanted:
    task = task_of(tx, caller, request.task, project=request.project) if request.task else None
    return Wanted(request.type, request.priority, task.id if task else None)


def answer(shown: list[Received], *, peek: bool, more: bool, coordinator: Contact | None) -> ops.Inbox:
    """Unread mail, with the receipt for what came out whole; a peek has none, and a cursor that only goes on."""
    shown = _bounded(shown)
    receipt = "" if peek else receipts.receipt_for(shown)
    cursor = receipt or (_place(shown[-1]) if more and shown else None)
    return ops.Inbox(messages=shown, more=more, receipt=receipt, cursor=cursor, coordinator=coordinator)


def _inbox(tx: Tx, caller: Caller, request: ops.ReadInbox, cursor: str) -> ops.Inbox:
    wanted = wanted_by(tx, caller, request)
    owner = may_look_into(tx, caller, request.of, project=request.project) if request.of else caller
    peek = request.peek or owner is not caller
    if request.all:
        before = _position(cursor)[1] if cursor else cursors.NEWEST
        page = _history(tx, owner, wanted, before=before, limit=request.limit, peek=peek)
    else:
        found = unread(tx, owner, wanted, cursor=cursor, limit=request.limit + 1)
        more = len(found) > request.limit
        page = answer(found[: request.limit], peek=peek, more=more, coordinator=None)
    return msgspec.structs.replace(page, coordinator=coordinator_contact(tx, caller), grouped=request.thread)


def _history(tx: Tx, owner: Caller, wanted: Wanted, *, before: int, limit: int, peek: bool) -> ops.Inbox:
    """Everything that ever came, newest first; what was unread until now counts as read once it has come out."""
    found = [
        message
        for box in own_boxes(owner)
        for message in tx.deliveries.all_in(box, wanted=wanted, before=before, limit=limit + 1)
    ]
    ordered = sorted({message.seq: message for message in reversed(found)}.values(), key=lambda one: -one.seq)
    shown, more = _bounded(ordered[:limit]), len(ordered) > limit
    fresh = [one for one in shown if one.status in _UNREAD]
    receipt = "" if peek else receipts.receipt_for(fresh)
    return ops.Inbox(messages=shown, more=more, receipt=receipt, cursor=_place(shown[-1]) if more else None)


def _bounded(shown: list[Received]) -> list[Received]:
    """Bodies up to a limit for the whole page: what is cut stays unread until it is shown whole."""
    room, kept = limits.inbox_chars_max, []
    for message in shown:
        if len(message.body) > room:
            message = msgspec.structs.replace(message, body=message.body[:room], truncated=True)
        room -= len(message.body)
        kept.append(message)
    return kept


def _as_received(tx: Tx, caller: Caller, messages: list[Message]) -> list[Received]:
    """Those of the messages that lie in the caller's own boxes."""
    found = []
    for message in messages:
        for box in own_boxes(caller):
            delivery = tx.deliveries.get(box, message.seq)
            if delivery is not None:
                fields = msgspec.structs.asdict(message)
                found.append(Received(**fields, box=box, status=delivery.status, reason=None, claimed_by=None))
    return found


def _place(message: Received) -> str:
    return f"{_BEGUN if message.begun else ''}{RANKS[message.priority]}.{message.seq}"


def _position(cursor: str) -> tuple[int, int]:
    rank, _, seq = cursor.partition(".")
    if not (rank.isascii() and rank.isdigit() and seq.isascii() and seq.isdigit() and len(cursor) < 30):
        raise errors.Invalid(f"{cursor[:40]!r} is not a cursor of this list.")
    return int(rank), int(seq)
