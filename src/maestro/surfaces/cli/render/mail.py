"""Render mail as text. A bar precedes every line of a body, so that an agent's text is not mistaken for Maestro's."""

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
    to = _recipient_states(value.deliveries, 10)
    notes = [line(note) for delivery in value.deliveries for note in (delivery.reason, delivery.note) if note]
    issue = f"  ({line(value.issue)})" if value.issue else ""
    return Rendered(f"{value.id}  {to}{issue}\n", notes)


def status(value: ops.MailStatus, view: View) -> Rendered:
    rows = [
        [
            line(delivery.name),
            status_word(delivery.status),
            _last_step(delivery),
            paint(line(delivery.reason or delivery.note or ""), "dim"),
        ]
        for delivery in value.deliveries
    ]
    return Rendered(f"{value.id}  {line(value.subject)}\n{aligned(rows, indent='  ')}")


def sent_list(value: ops.SentList, view: View) -> Rendered:
    rows = [
        [
            message.id,
            when(message.created_at),
            _recipient_states(message.deliveries, 5),
            line(message.subject),
        ]
        for message in value.messages
    ]
    notes = more(value.cursor) if rows else ["no mail sent yet"]
    return Rendered(aligned(rows), notes)


def inbox(value: ops.Inbox, view: View) -> Rendered:
    """Render whole messages, grouped by thread if the request asks for groups."""
    parts = _by_thread(value.messages) if value.grouped else [_received_text(message) for message in value.messages]
    notes = coordinator_notes(value.coordinator)
    if not value.messages:
        notes.append("no mail")
    elif value.more:
        notes.append("more mail waits: read again" if value.receipt else f"more mail: --cursor {value.cursor}")
    return Rendered("\n".join(parts), notes)


def detail(value: ops.MessageDetail, view: View) -> Rendered:
    rows = [
        [line(delivery.name), status_word(delivery.status), _last_step(delivery)]
        for delivery in value.deliveries[:50]
    ]
    claimed = f"claimed by {line(value.claimed_by)}\n" if value.claimed_by else ""
    return Rendered(f"{message(value)}\n{claimed}{aligned(rows)}")


def thread(value: ops.Thread, view: View) -> Rendered:
    head = f"{paint(line(value.subject), 'bold')}  {paint(value.thread_id, 'dim')}\n"
    claimed = f"claimed by {line(value.claimed_by)}\n" if value.claimed_by else ""
    notes = ["the thread has more messages than are shown"] if value.truncated else []
    return Rendered(head + claimed + "\n" + "\n".join(message(each) for each in value.messages), notes)


def message_list(value: ops.MessageList, view: View) -> Rendered:
    parts = [message(each) for each in value.messages]
    return Rendered("\n".join(parts), more(value.cursor) if parts else ["no mail"])


def claim(value: ops.ThreadClaim, view: View) -> Rendered:
    state = f"claimed by {line(value.claimed_by)}" if value.claimed_by else "free"
    return Rendered(f"{value.thread_id}  {state}\n")


def acknowledged(value: ops.Acknowledged, view: View) -> Rendered:
    return Rendered("".join(f"{message_id}  acknowledged\n" for message_id in value.messages))


def confirmed(value: ops.Confirmed, view: View) -> Rendered:
    return Rendered(f"{value.count} confirmed\n")


def message(value: Message, *, standing: str = "") -> str:
    """Render a message: the facts first, the text behind a bar."""
    marks = [value.type.value]
    if value.priority is not Priority.NORMAL:
        marks.insert(0, paint(value.priority, _PRIORITIES.get(value.priority, "")))
    head = f"{paint(value.id, 'bold')}  {' '.join(marks)}  {when(value.created_at)}"
    facts = pairs(
        [
            ("from", _sender_text(value)),
            ("to", ", ".join(map(line, value.to))),
            ("task", line(value.task or "")),
            ("subject", paint(line(value.subject), "bold")),
            ("", paint(standing, "dim")),
        ],
        indent="  ",
    )
    return f"{head}\n{facts}{_quoted_body(value)}{_attachment_lines(value.attachments)}"


def status_word(status: Status) -> str:
    return paint(status, _STATUSES.get(status, ""))


def coordinator_notes(coordinator: Contact | None) -> list[str]:
    """Return the notes for a worker whose coordinator is silent or has ended."""
    if coordinator is None or coordinator.fresh:
        return []
    name, last_seen = line(coordinator.name), when(coordinator.last_seen)
    if coordinator.status in FINAL:
        ended = f"your coordinator {name} is {coordinator.status}, last seen at {last_seen}"
        return [f"{ended}: mail to {name} goes to its successor"]
    return [f"your coordinator {name} ({coordinator.status}) has been silent since {last_seen}"]


def _received_text(value: Received, *, grouped: bool = False) -> str:
    standing = [line(value.reason)] if value.reason else []
    if value.box.startswith("prj_") and not value.claimed_by:
        standing.append(f"to the whole project; claim the thread with: maestro mail claim {value.thread_id}")
    if grouped and value.parent_id:
        standing.append(f"reply to {value.parent_id}")
    return message(value, standing="; ".join(standing))


def _sender_text(value: Message) -> str:
    sender = value.sender
    if sender.kind is SenderKind.MAESTRO:
        return "maestro"
    location = sender.address or sender.project
    facts = [part for part in (sender.id if sender.id != sender.name else "", location, _human_behind(value)) if part]
    return f"{line(sender.name)}, {sender.kind}" + (f" ({line(', '.join(facts))})" if facts else "")


def _human_behind(value: Message) -> str:
    return f"for {value.sender.human}" if value.sender.kind is SenderKind.SESSION and value.sender.human else ""


def _quoted_body(value: Message) -> str:
    text = body(value.body).rstrip("\n")
    lines = "".join(f"  | {part}".rstrip() + "\n" for part in text.split("\n")) if text else ""
    if value.truncated:
        lines += f"  … cut short; full text: maestro mail show {value.id}\n"
    return lines


def _attachment_lines(attachments: Iterable[Attachment]) -> str:
    return "".join(
        f"  + {line(attachment.file_name)}  {size(attachment.bytes)}  {attachment.id}\n" for attachment in attachments
    )


def _by_thread(messages: list[Received]) -> list[str]:
    """Render threads in the order of their most urgent message, each with its subject and in order of time."""
    threads: dict[str, list[Received]] = {}
    for message in messages:
        threads.setdefault(message.thread_id, []).append(message)
    return [_thread_messages(sorted(thread, key=lambda message: message.seq)) for thread in threads.values()]


def _thread_messages(messages: list[Received]) -> str:
    first = messages[0]
    count = "1 message" if len(messages) == 1 else f"{len(messages)} messages"
    head = f"{paint(line(first.subject), 'bold')}  {paint(f'{count} of thread {first.thread_id}', 'dim')}\n"
    return head + "".join(_received_text(message, grouped=True) for message in messages)


def _recipient_states(deliveries: list[ops.Recipient], shown_max: int) -> str:
    """Return the recipients, each with the status of its delivery."""
    shown = ", ".join(f"{line(delivery.name)}: {status_word(delivery.status)}" for delivery in deliveries[:shown_max])
    return f"{shown} and {len(deliveries) - shown_max} more" if len(deliveries) > shown_max else shown


def _last_step(delivery: ops.Recipient) -> str:
    at = delivery.acknowledged_at or delivery.read_at or delivery.delivered_at or delivery.expired_at
    if at is None:
        return ""
    via = f" via {line(delivery.via)}" if delivery.via else ""
    by = f" by {line(delivery.by)}" if delivery.by and delivery.by != delivery.box else ""
    return f"{when(at)}{via}{by}"
