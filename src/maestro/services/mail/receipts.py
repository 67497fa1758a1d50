"""Receipts: record, show and await the steps of a message's deliveries.

A receipt is a string that names the messages of an answer. The caller sends the receipt back to confirm that the
messages were shown.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from maestro.core import errors
from maestro.domain.callers import Caller
from maestro.domain.conversations import TurnState
from maestro.domain.events import EventKind, NewEvent
from maestro.domain.messages import (
    Delivery,
    Message,
    MessageStatus,
    ReceiptStep,
    ReceivedMessage,
    has_reached,
    is_shared_mailbox,
)
from maestro.events.hub import Hub
from maestro.operations import mail_shapes as ops
from maestro.services.mail.create import Draft, MailTarget, own_mailboxes
from maestro.services.mail.mailbox_names import mailbox_name
from maestro.services.mail.threads import find_visible_message
from maestro.store.base import Store, Tx
from maestro.tools import registry

_EVENT_KINDS = {
    ReceiptStep.DELIVERED: EventKind.MAIL_DELIVERED,
    ReceiptStep.READ: EventKind.MAIL_READ,
    ReceiptStep.ACKNOWLEDGED: EventKind.MAIL_ACKNOWLEDGED,
}
_RECEIPT_PREFIX = "r1:"
_RECEIPT_ITEM = re.compile(r"([a-z])([0-9a-f]{1,15})(~?)")
_MAILBOX_LETTERS = {"ses_": "s", "mem_": "m", "wsp_": "w", "prj_": "p"}


def record_step(tx: Tx, caller: Caller, step: ReceiptStep, mailbox: str, seq: int, *, via: str) -> bool:
    """Record a step of a delivery and log its event. Return False if the delivery cannot take the step."""
    if step is not ReceiptStep.DELIVERED and is_shared_mailbox(mailbox) and caller.session_id:
        tx.deliveries.record_shared_read(caller.session_id, mailbox, seq, at=tx.at)
    if not tx.deliveries.apply_step(step, mailbox, seq, via=via, by=caller.name, at=tx.at):
        return False
    message_id, sender, project_id = tx.mail.get_head(seq)
    data = {"mailbox": mailbox, "by": caller.name, "via": via, "from": sender}
    # The event goes to the sender's project, because the sender waits for the receipt.
    tx.log(NewEvent(_EVENT_KINDS[step], message_id, project_id, data), actor=caller.name)
    return True


def receipt_for(messages: Iterable[ReceivedMessage]) -> str:
    """Return the receipt for messages; an empty string for no messages."""
    items = [
        f"{_mailbox_letter(message.mailbox)}{message.seq:x}{'~' if message.truncated else ''}" for message in messages
    ]
    return _RECEIPT_PREFIX + ",".join(items) if items else ""


def sequence_numbers(receipt: str) -> set[int]:
    """Return the sequence numbers of the messages that a receipt names."""
    return {seq for _, seq, _ in _parse_receipt(receipt)}


def is_receipt(cursor: str) -> bool:
    return cursor.startswith(_RECEIPT_PREFIX)


def confirm(tx: Tx, caller: Caller, request: ops.ConfirmReceipt) -> ops.ConfirmedReceipt:
    """Confirm that the messages of a receipt were shown. A message with a cut body counts only as delivered."""
    mailbox_by_letter = {_mailbox_letter(mailbox): mailbox for mailbox in own_mailboxes(caller)}
    count = 0
    for letter, seq, was_cut in _parse_receipt(request.receipt):
        if letter not in mailbox_by_letter:  # a caller may confirm only deliveries in its own mailboxes
            continue
        for mailbox in mailbox_by_letter.values():
            # An inbox shows a message once, although several mailboxes of the caller may hold the message.
            # The receipt confirms the delivery in each of the mailboxes.
            if mailbox != mailbox_by_letter[letter] and not tx.deliveries.get(mailbox, seq):
                continue
            if was_cut and request.step is not ReceiptStep.DELIVERED:
                _mark_partly_shown(tx, caller, mailbox, seq)
            step = ReceiptStep.DELIVERED if was_cut else request.step
            count += record_step(tx, caller, step, mailbox, seq, via=request.via)
    return ops.ConfirmedReceipt(count=count)


def _mark_partly_shown(tx: Tx, caller: Caller, mailbox: str, seq: int) -> None:
    """Mark a long message as partly shown: the inbox lists the message after the messages not shown at all."""
    if is_shared_mailbox(mailbox) and caller.session_id:
        tx.deliveries.record_shared_read(caller.session_id, mailbox, seq, at=tx.at, is_partly_shown=True)
    else:
        tx.deliveries.mark_partly_shown(mailbox, seq)


def acknowledge_messages(tx: Tx, caller: Caller, request: ops.AcknowledgeMail) -> ops.AcknowledgedMail:
    """Acknowledge messages for the caller, who must be a recipient of each message."""
    acknowledged = []
    for message_id in dict.fromkeys(request.ids):
        message = find_visible_message(tx, caller, message_id)
        receiving_mailboxes = [
            mailbox for mailbox in own_mailboxes(caller) if tx.deliveries.get(mailbox, message.seq)
        ]
        if not receiving_mailboxes:
            raise errors.NotFound(
                f"Message {message.id} was not sent to you.",
                hint="List your messages: maestro mail inbox --all",
                data={"id": message.id},
            )
        for mailbox in receiving_mailboxes:
            record_step(tx, caller, ReceiptStep.ACKNOWLEDGED, mailbox, message.seq, via="ack")
        acknowledged.append(message.id)
    return ops.AcknowledgedMail(messages=acknowledged)


def show_status(tx: Tx, caller: Caller, request: ops.OneMessage) -> ops.MailStatus:
    return status_of_message(tx, find_visible_message(tx, caller, request.id))


def status_of_message(tx: Tx, message: Message) -> ops.MailStatus:
    return ops.MailStatus(
        id=message.id,
        thread_id=message.thread_id,
        subject=message.subject,
        created_at=message.created_at,
        deliveries=recipients_of(tx, message),
    )


def new_message_answer(tx: Tx, draft: Draft, message: Message) -> ops.SentMail:
    """Return the answer for a message posted in this transaction. No recipient can have seen the message yet."""
    return ops.SentMail(
        id=message.id,
        thread_id=message.thread_id,
        subject=message.subject,
        created_at=message.created_at,
        deliveries=[
            _new_recipient(tx, target, target.name or mailbox_name(tx, target.mailbox))
            for target in draft.distinct_targets()
        ],
    )


def _new_recipient(tx: Tx, target: MailTarget, name: str) -> ops.Recipient:
    return ops.Recipient(
        recipient=target.mailbox,
        mailbox=target.mailbox,
        name=name,
        status=MessageStatus.SENT,
        via=None,
        by=None,
        reason=target.reason,
        delivered_at=None,
        read_at=None,
        acknowledged_at=None,
        expired_at=None,
        note=_delay_note(tx, target.mailbox, name),
    )


def _delay_note(tx: Tx, mailbox: str, name: str) -> str | None:
    """Return why a recipient gets a message later: its program takes no text before the end of the turn."""
    route = tx.sessions.mail_route(mailbox) if mailbox.startswith("ses_") else None
    closed_drivers = registry.drivers_unreachable_during_turn(route.tool) if route is not None else ()
    conversation = tx.conversations.get(mailbox) if closed_drivers else None
    if (
        conversation is None
        or conversation.driver not in closed_drivers
        or conversation.turn not in (TurnState.WORKING, TurnState.ASKING)
    ):
        return None
    return (
        f"{name} is busy, and its program takes messages only between turns. "
        f"{name} gets the message at the end of the turn."
    )


def recipients_of(tx: Tx, message: Message) -> list[ops.Recipient]:
    return [_recipient_view(tx, delivery) for delivery in tx.deliveries.of_message(message.seq)]


def _recipient_view(tx: Tx, delivery: Delivery) -> ops.Recipient:
    name = mailbox_name(tx, delivery.mailbox)
    note = _delay_note(tx, delivery.mailbox, name) if delivery.status is MessageStatus.SENT else None
    return ops.Recipient(**msgspec.structs.asdict(delivery), name=name, note=note)


class ReceiptWaits:
    """Waits of senders until every recipient has reached a step."""

    def __init__(self, store: Store, hub: Hub) -> None:
        self._store = store
        self._hub = hub

    async def wait_for_receipts(self, caller: Caller, request: Any, answer: ops.SentMail) -> ops.SentMail:
        """Hold the answer to a send until every delivery has reached `wait_for`, or raise `NotConfirmed`."""
        if request.wait_for is None:
            return answer
        with self._hub.subscribe([answer.id]) as subscription:
            try:
                async with asyncio.timeout(request.timeout / 1000):
                    current = await self.read_deliveries(answer)
                    while not _is_settled(current.deliveries, request.wait_for):
                        await subscription.wait_for_event()
                        subscription.take_events()
                        current = await self.read_deliveries(answer)
            except TimeoutError:
                current = await self.read_deliveries(answer)
        if all(has_reached(delivery.status, request.wait_for) for delivery in current.deliveries):
            return current
        raise _not_confirmed_error(current, request.wait_for)

    async def read_deliveries(self, answer: ops.SentMail) -> ops.SentMail:
        """Return the answer with the present state of its deliveries."""

        def read_deliveries(tx: Tx) -> ops.SentMail:
            message = tx.mail.get(answer.id)
            return msgspec.structs.replace(answer, deliveries=recipients_of(tx, message) if message else [])

        return await self._store.read(read_deliveries, quick=True)


def _is_settled(deliveries: Sequence[Delivery], step: ReceiptStep) -> bool:
    """Return whether each delivery has reached the step or has expired."""
    return all(
        has_reached(delivery.status, step) or delivery.status is MessageStatus.EXPIRED for delivery in deliveries
    )


def _not_confirmed_error(current: ops.SentMail, step: ReceiptStep) -> errors.NotConfirmed:
    states = ", ".join(f"{delivery.name} {delivery.status}" for delivery in current.deliveries)
    return errors.NotConfirmed(
        f"Message {current.id} is stored, but not {step} by every recipient: {states}.",
        hint=f"Check again later: maestro mail status {current.id}",
        data=msgspec.to_builtins(current),
    )


def _mailbox_letter(mailbox: str) -> str:
    return _MAILBOX_LETTERS.get(mailbox[:4], "h")


def _bad_receipt(receipt: str) -> errors.Invalid:
    return errors.Invalid(
        f"{receipt[:40]!r} is not a receipt of an inbox.",
        hint="Send the `cursor` of the last inbox answer unchanged.",
    )


def _parse_receipt(receipt: str) -> list[tuple[str, int, bool]]:
    if not is_receipt(receipt):
        raise _bad_receipt(receipt)
    found = []
    for item in receipt.removeprefix(_RECEIPT_PREFIX).split(","):
        match = _RECEIPT_ITEM.fullmatch(item)
        if match is None:
            raise _bad_receipt(receipt)
        found.append((match[1], int(match[2], 16), bool(match[3])))
    return found
