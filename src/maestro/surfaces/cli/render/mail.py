"""Mail as text. Every line of a body stands behind a bar: what an agent wrote is never taken for anything else."""

from __future__ import annotations

from collections.abc import Iterable

from maestro.domain.messages import Attachment, Message, Received, SenderKind, Status
from maestro.domain.sessions import FINAL, Contact
from maestro.domain.tasks import Priority
from maestro.operations import mail_shapes as ops
from maestro.surfaces.cli.render.base import Rendered, more, pairs, size, when
from maestro.surfaces.cli.render.style import View, aligned, body, line, paint

_PRIORITIES = {Priority.CRITICAL: "red", Priority.HIGH: "yellow", Priority.LOW: "dim"}
_STATUSES = {
    Status.READ: "green",
    Status.ACKNOWLEDGED: "green",
    Status.DELIVERED: "cyan",
    Status.EXPIRED: "red",
}


def sent(value: ops.SentMail, view: View) -> Rendered:
    to = _reached(value.deliveries, 10)
    notes = [line(word) for one in value.deliveries for word in (one.reason, one.note) if word]
    issue = f"  ({line(value.issue)})" if value.issue else ""
    return Rendered(f"{value.id}  {to}{issue}\n", notes)


def status(value: ops.MailStatus, view: View) -> Rendered:
    rows = [
        [
            line(one.name),
            status_word(one.status),
            _step(one),
            paint(line(one.reason or one.note or ""), "dim"),
        ]
        for one in value.deliveries
    ]
    return Rendered(f"{value.id}  {line(value.subject)}\n{aligned(rows, indent='  ')}")


def sent_list(value: ops.SentList, view: View) -> Rendered:
    rows = [
        [
            one.id,
            when(one.created_at),
            _reached(one.deliveries, 5),
            line(one.subject),
        ]
        for one in value.messages
    ]
    notes = more(value.cursor) if rows else ["nothing sent yet"]
    return Rendered(aligned(rows), notes)


def inbox(value: ops.Inbox, view: View) -> Rendered:
    """Whole messages, below each other; by conversation if that was asked for."""
    parts = _by_thread(value.messages) if value.grouped else [_received(message) for message in value.messages]
    notes = coordinator_notes(value.coordinator)
    if not value.messages:
        notes.append("no mail")
    elif value.more:
        notes.append("there is more: look again" if value.receipt else f"there is more: --cursor {value.cursor}")
    return Rendered("\n".join(parts), notes)


def detail(value: ops.MessageDetail, view: View) -> Rendered:
    rows = [[line(one.name), status_word(one.status), _step(one)] for one in value.deliveries[:50]]
    claimed = f"claimed by {line(value.claimed_by)}\n" if value.claimed_by else ""
    return Rendered(f"{message(value)}\n{claimed}{aligned(rows)}")


def thread(value: ops.Thread, view: View) -> Rendered:
    head = f"{paint(line(value.subject), 'bold')}  {paint(value.thread_id, 'dim')}\n"
    claimed = f"claimed by {line(value.claimed_by)}\n" if value.claimed_by else ""
    notes = ["there are more messages than are shown"] if value.truncated else []
    return Rendered(head + claimed + "\n" + "\n".join(message(one) for one in value.messages), notes)


def message_list(value: ops.MessageList, view: View) -> Rendered:
    parts = [message(one) for one in value.messages]
    return Rendered("\n".join(parts), more(value.cursor) if parts else ["no mail"])


def claim(value: ops.ThreadClaim, view: View) -> Rendered:
    who = f"claimed by {line(value.claimed_by)}" if value.claimed_by else "free"
    return Rendered(f"{value.thread_id}  {who}\n")


def acknowledged(value: ops.Acknowledged, view: View) -> Rendered:
    return Rendered("".join(f"{one}  acknowledged\n" for one in value.messages))


def confirmed(value: ops.Confirmed, view: View) -> Rendered:
    return Rendered(f"{value.count} confirmed\n")


def message(value: Message, *, standing: str = "") -> str:
    """One message: who attests what on one line, then its text behind a bar."""
    marks = [value.type.value]
    if value.priority is not Priority.NORMAL:
        marks.insert(0, paint(value.priority, _PRIORITIES.get(value.priority, "")))
    head = f"{paint(value.id, 'bold')}  {' '.join(marks)}  {when(value.created_at)}"
    facts = pairs(
        [
            ("from", _sender(value)),
            ("to", ", ".join(map(line, value.to))),
            ("task", line(value.task or "")),
            ("subject", paint(line(value.subject), "bold")),
            ("", paint(standing, "dim")),
        ],
        indent="  ",
    )
    return f"{head}\n{facts}{_text(value)}{_files(value.attachments)}"


def status_word(word: Status) -> str:
    return paint(word, _STATUSES.get(word, ""))


def coordinator_notes(coordinator: Contact | None) -> list[str]:
    """What a worker must know of a coordinator that is silent, or gone."""
    if coordinator is None or coordinator.fresh:
        return []
    who, since = line(coordinator.name), when(coordinator.last_seen)
    if coordinator.status in FINAL:
        gone = f"your coordinator {who} is {coordinator.status}, last heard of at {since}"
        return [f"{gone}: its mail goes to whoever stands in"]
    return [f"nothing was heard of your coordinator {who} ({coordinator.status}) since {since}"]


def _received(value: Received, *, grouped: bool = False) -> str:
    standing = [line(value.reason)] if value.reason else []
    if value.box.startswith("prj_") and not value.claimed_by:
        standing.append(f"to the whole project; take it with: maestro mail claim {value.thread_id}")
    if grouped and value.parent_id:
        standing.append(f"in answer to {value.parent_id}")
    return message(value, standing="; ".join(standing))


def _sender(value: Message) -> str:
    sender = value.sender
    if sender.kind is SenderKind.MAESTRO:
        return "maestro"
    where = sender.address or sender.project
    known = [part for part in (sender.id if sender.id != sender.name else "", where, _behind(value)) if part]
    return f"{line(sender.name)}, {sender.kind}" + (f" ({line(', '.join(known))})" if known else "")


def _behind(value: Message) -> str:
    return f"for {value.sender.human}" if value.sender.kind is SenderKind.SESSION and value.sender.human else ""


def _text(value: Message) -> str:
    text = body(value.body).rstrip("\n")
    lines = "".join(f"  | {part}".rstrip() + "\n" for part in text.split("\n")) if text else ""
    if value.truncated:
        lines += f"  … cut short; the whole of it: maestro mail show {value.id}\n"
    return lines


def _files(found: Iterable[Attachment]) -> str:
    return "".join(f"  + {line(one.file_name)}  {size(one.bytes)}  {one.id}\n" for one in found)


def _by_thread(found: list[Received]) -> list[str]:
    """Conversations in the order of their most urgent message, each in its own order and under its name."""
    threads: dict[str, list[Received]] = {}
    for one in found:
        threads.setdefault(one.thread_id, []).append(one)
    return [_conversation(sorted(messages, key=lambda one: one.seq)) for messages in threads.values()]


def _conversation(messages: list[Received]) -> str:
    first = messages[0]
    many = "1 message" if len(messages) == 1 else f"{len(messages)} messages"
    head = f"{paint(line(first.subject), 'bold')}  {paint(f'{many} of conversation {first.thread_id}', 'dim')}\n"
    return head + "".join(_received(message, grouped=True) for message in messages)


def _reached(deliveries: list[ops.Recipient], many: int) -> str:
    """To whom, and how far it has come with each."""
    shown = ", ".join(f"{line(one.name)}: {status_word(one.status)}" for one in deliveries[:many])
    return f"{shown} and {len(deliveries) - many} more" if len(deliveries) > many else shown


def _step(one: ops.Recipient) -> str:
    at = one.acknowledged_at or one.read_at or one.delivered_at or one.expired_at
    if at is None:
        return ""
    via = f" via {line(one.via)}" if one.via else ""
    by = f" by {line(one.by)}" if one.by and one.by != one.box else ""
    return f"{when(at)}{via}{by}"
