"""Render mail as text. A bar precedes every line of a body, so that an agent's text is not mistaken for Maestro's."""

from __future__ import annotations

from collections.abc import Iterable

from maestro.domain.messages import Attachment, Message, MessageStatus, ReceivedMessage, SenderKind
from maestro.domain.priorities import Priority
from maestro.domain.sessions import ENDED_STATUSES, Contact
from maestro.operations import mail_shapes as ops
from maestro.surfaces.cli.render.base import (
    Rendered,
    format_size,
    format_time,
    next_page_note,
    priority_word,
    render_pairs,
)
from maestro.surfaces.cli.render.style import View, align_rows, paint, safe_body, safe_line

_STATUSES = {
    MessageStatus.READ: "green",
    MessageStatus.ACKNOWLEDGED: "green",
    MessageStatus.DELIVERED: "cyan",
    MessageStatus.EXPIRED: "red",
}


def render_sent_mail(value: ops.SentMail, view: View) -> Rendered:
    to = _recipient_states(value.deliveries, 10)
    notes = [safe_line(note) for delivery in value.deliveries for note in (delivery.reason, delivery.note) if note]
    issue = f"  ({safe_line(value.issue)})" if value.issue else ""
    return Rendered(f"{value.id}  {to}{issue}\n", notes)


def render_mail_status(value: ops.MailStatus, view: View) -> Rendered:
    rows = [
        [
            safe_line(delivery.name),
            status_word(delivery.status),
            _last_step(delivery),
            paint(safe_line(delivery.reason or delivery.note or ""), "dim"),
        ]
        for delivery in value.deliveries
    ]
    return Rendered(f"{value.id}  {safe_line(value.subject)}\n{align_rows(rows, indent='  ')}")


def render_sent_list(value: ops.SentList, view: View) -> Rendered:
    rows = [
        [
            message.id,
            format_time(message.created_at),
            _recipient_states(message.deliveries, 5),
            safe_line(message.subject),
        ]
        for message in value.messages
    ]
    notes = next_page_note(value.cursor) if rows else ["no mail sent yet"]
    return Rendered(align_rows(rows), notes)


def render_inbox(value: ops.InboxPage, view: View) -> Rendered:
    """Render whole messages, grouped by thread if the request asks for groups."""
    parts = _by_thread(value.messages) if value.grouped else [_received_text(message) for message in value.messages]
    notes = coordinator_notes(value.coordinator)
    if not value.messages:
        notes.append("no mail")
    elif value.more:
        notes.append("more mail waits: read again" if value.receipt else f"more mail: --cursor {value.cursor}")
    return Rendered("\n".join(parts), notes)


def render_message_detail(value: ops.MessageDetail, view: View) -> Rendered:
    rows = [
        [safe_line(delivery.name), status_word(delivery.status), _last_step(delivery)]
        for delivery in value.deliveries[:50]
    ]
    claimed = f"claimed by {safe_line(value.claimed_by)}\n" if value.claimed_by else ""
    return Rendered(f"{message_text(value)}\n{claimed}{align_rows(rows)}")


def render_thread(value: ops.Thread, view: View) -> Rendered:
    head = f"{paint(safe_line(value.subject), 'bold')}  {paint(value.thread_id, 'dim')}\n"
    claimed = f"claimed by {safe_line(value.claimed_by)}\n" if value.claimed_by else ""
    notes = ["the thread has more messages than are shown"] if value.truncated else []
    return Rendered(head + claimed + "\n" + "\n".join(message_text(each) for each in value.messages), notes)


def render_message_list(value: ops.MessageList, view: View) -> Rendered:
    parts = [message_text(each) for each in value.messages]
    return Rendered("\n".join(parts), next_page_note(value.cursor) if parts else ["no mail"])


def render_claim(value: ops.ThreadClaim, view: View) -> Rendered:
    state = f"claimed by {safe_line(value.claimed_by)}" if value.claimed_by else "free"
    return Rendered(f"{value.thread_id}  {state}\n")


def render_acknowledged(value: ops.AcknowledgedMail, view: View) -> Rendered:
    return Rendered("".join(f"{message_id}  acknowledged\n" for message_id in value.messages))


def render_confirmed(value: ops.ConfirmedReceipt, view: View) -> Rendered:
    return Rendered(f"{value.count} confirmed\n")


def message_text(value: Message, *, note: str = "") -> str:
    """Render a message: the facts first, the text behind a bar."""
    marks = [value.type.value]
    if value.priority is not Priority.NORMAL:
        marks.insert(0, priority_word(value.priority))
    head = f"{paint(value.id, 'bold')}  {' '.join(marks)}  {format_time(value.created_at)}"
    facts = render_pairs(
        [
            ("from", _sender_text(value)),
            ("to", ", ".join(map(safe_line, value.to))),
            ("task", safe_line(value.task or "")),
            ("subject", paint(safe_line(value.subject), "bold")),
            ("", paint(note, "dim")),
        ],
        indent="  ",
    )
    return f"{head}\n{facts}{_quoted_body(value)}{_attachment_lines(value.attachments)}"


def status_word(status: MessageStatus) -> str:
    return paint(status, _STATUSES.get(status, ""))


def coordinator_notes(coordinator: Contact | None) -> list[str]:
    """Return the notes for a worker whose coordinator is silent or has ended."""
    if coordinator is None or coordinator.fresh:
        return []
    name, last_seen = safe_line(coordinator.name), format_time(coordinator.last_seen)
    if coordinator.status in ENDED_STATUSES:
        ended = f"your coordinator {name} is {coordinator.status}, last seen at {last_seen}"
        return [f"{ended}: mail to {name} goes to its successor"]
    return [f"your coordinator {name} ({coordinator.status}) has been silent since {last_seen}"]


def _received_text(value: ReceivedMessage, *, grouped: bool = False) -> str:
    standing = [safe_line(value.reason)] if value.reason else []
    if value.mailbox.startswith("prj_") and not value.claimed_by:
        standing.append(f"to the whole project; claim the thread with: maestro mail claim {value.thread_id}")
    if grouped and value.parent_id:
        standing.append(f"reply to {value.parent_id}")
    return message_text(value, note="; ".join(standing))


def _sender_text(value: Message) -> str:
    sender = value.sender
    if sender.kind is SenderKind.MAESTRO:
        return "maestro"
    location = sender.address or sender.project
    facts = [part for part in (sender.id if sender.id != sender.name else "", location, _human_behind(value)) if part]
    return f"{safe_line(sender.name)}, {sender.kind}" + (f" ({safe_line(', '.join(facts))})" if facts else "")


def _human_behind(value: Message) -> str:
    return f"for {value.sender.human}" if value.sender.kind is SenderKind.SESSION and value.sender.human else ""


def _quoted_body(value: Message) -> str:
    text = safe_body(value.body).rstrip("\n")
    lines = "".join(f"  | {part}".rstrip() + "\n" for part in text.split("\n")) if text else ""
    if value.truncated:
        lines += f"  … cut short; full text: maestro mail show {value.id}\n"
    return lines


def _attachment_lines(attachments: Iterable[Attachment]) -> str:
    return "".join(
        f"  + {safe_line(attachment.file_name)}  {format_size(attachment.bytes)}  {attachment.id}\n"
        for attachment in attachments
    )


def _by_thread(messages: list[ReceivedMessage]) -> list[str]:
    """Render threads in the order of their most urgent message, each with its subject and in order of time."""
    threads: dict[str, list[ReceivedMessage]] = {}
    for message in messages:
        threads.setdefault(message.thread_id, []).append(message)
    return [_thread_messages(sorted(thread, key=lambda message: message.seq)) for thread in threads.values()]


def _thread_messages(messages: list[ReceivedMessage]) -> str:
    first = messages[0]
    count = "1 message" if len(messages) == 1 else f"{len(messages)} messages"
    head = f"{paint(safe_line(first.subject), 'bold')}  {paint(f'{count} of thread {first.thread_id}', 'dim')}\n"
    return head + "".join(_received_text(message, grouped=True) for message in messages)


def _recipient_states(deliveries: list[ops.Recipient], shown_max: int) -> str:
    """Return the recipients, each with the status of its delivery."""
    shown = ", ".join(
        f"{safe_line(delivery.name)}: {status_word(delivery.status)}" for delivery in deliveries[:shown_max]
    )
    return f"{shown} and {len(deliveries) - shown_max} more" if len(deliveries) > shown_max else shown


def _last_step(delivery: ops.Recipient) -> str:
    at = delivery.acknowledged_at or delivery.read_at or delivery.delivered_at or delivery.expired_at
    if at is None:
        return ""
    via = f" via {safe_line(delivery.via)}" if delivery.via else ""
    by = f" by {safe_line(delivery.by)}" if delivery.by and delivery.by != delivery.mailbox else ""
    return f"{format_time(at)}{via}{by}"
