"""How far a message has come with each recipient: taking a step, telling it, waiting for it.

A receipt is a string that names what an answer showed. Whoever sends it back says: this came out.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from maestro.core import errors
from maestro.domain.callers import Caller
from maestro.domain.events import Change, Kind
from maestro.domain.messages import Delivery, Message, Received, Status, Step, has_reached, is_shared
from maestro.domain.talks import Turn
from maestro.events.hub import Hub
from maestro.operations import mail_shapes as ops
from maestro.services.mail.labels import label
from maestro.services.mail.post import Draft, Posted, Target, own_boxes
from maestro.services.mail.threads import message_of
from maestro.store.base import Store, Tx
from maestro.tools import registry

_KINDS = {Step.DELIVERED: Kind.MAIL_DELIVERED, Step.READ: Kind.MAIL_READ, Step.ACKNOWLEDGED: Kind.MAIL_ACKNOWLEDGED}
_PREFIX = "r1:"
_ITEM = re.compile(r"([a-z])([0-9a-f]{1,15})(~?)")
_LETTERS = {"ses_": "s", "mem_": "m", "wsp_": "w", "prj_": "p"}


def take(tx: Tx, caller: Caller, step: Step, box: str, seq: int, *, via: str) -> bool:
    """One step of one delivery, if it can be taken; logged with the step."""
    if step is not Step.DELIVERED and is_shared(box) and caller.session_id:
        tx.deliveries.note_shared(caller.session_id, box, seq, at=tx.at)
    if not tx.deliveries.take(step, box, seq, via=via, by=caller.name, at=tx.at):
        return False
    message_id, sender, project_id = tx.mail.head(seq)
    data = {"box": box, "by": caller.name, "via": via, "from": sender}
    # In the sender's project: it is the sender who wants to know.
    tx.log(Change(_KINDS[step], message_id, project_id, data), actor=caller.name)
    return True


def receipt_for(messages: Iterable[Received]) -> str:
    """What to send back once these have come out; nothing for nothing."""
    items = [f"{_letter(one.box)}{one.seq:x}{'~' if one.truncated else ''}" for one in messages]
    return _PREFIX + ",".join(items) if items else ""


def places(receipt: str) -> set[int]:
    """The messages that a receipt names."""
    return {seq for _, seq, _ in _items(receipt)}


def is_receipt(cursor: str) -> bool:
    return cursor.startswith(_PREFIX)


def confirm(tx: Tx, caller: Caller, request: ops.Confirm) -> ops.Confirmed:
    """The caller says that what it was shown has come out. A body that was cut counts as delivered only."""
    boxes = {_letter(box): box for box in own_boxes(caller)}
    count = 0
    for letter, seq, was_cut in _items(request.receipt):
        if letter not in boxes:  # what is not the caller's is not the caller's to confirm
            continue
        for box in boxes.values():
            # It was shown once, from the nearest; it came out of each of the caller's boxes that it lay in.
            if box != boxes[letter] and not tx.deliveries.get(box, seq):
                continue
            if was_cut and request.step is not Step.DELIVERED:
                _begin(tx, caller, box, seq)
            step = Step.DELIVERED if was_cut else request.step
            count += take(tx, caller, step, box, seq, via=request.via)
    return ops.Confirmed(count=count)


def _begin(tx: Tx, caller: Caller, box: str, seq: int) -> None:
    """Its beginning came out; it waits for `mail show`, behind what has not been shown at all."""
    if is_shared(box) and caller.session_id:
        tx.deliveries.note_shared(caller.session_id, box, seq, at=tx.at, begun=True)
    else:
        tx.deliveries.begin(box, seq)


def acknowledge(tx: Tx, caller: Caller, request: ops.Acknowledge) -> ops.Acknowledged:
    """The recipient says that it has taken messages in."""
    done = []
    for message_id in dict.fromkeys(request.ids):
        message = message_of(tx, caller, message_id)
        mine = [box for box in own_boxes(caller) if tx.deliveries.get(box, message.seq)]
        if not mine:
            raise errors.NotFound(f"{message.id} was not sent to you.", data={"id": message.id})
        for box in mine:
            take(tx, caller, Step.ACKNOWLEDGED, box, message.seq, via="ack")
        done.append(message.id)
    return ops.Acknowledged(messages=done)


def status(tx: Tx, caller: Caller, request: ops.OneMessage) -> ops.MailStatus:
    return status_of(tx, message_of(tx, caller, request.id))


def status_of(tx: Tx, message: Message) -> ops.MailStatus:
    return ops.MailStatus(
        id=message.id,
        thread_id=message.thread_id,
        subject=message.subject,
        created_at=message.created_at,
        deliveries=recipients(tx, message),
    )


def just_sent(tx: Tx, draft: Draft, posted: Posted) -> ops.SentMail:
    """A message that was written in this moment: nobody can have seen it yet."""
    return ops.SentMail(
        id=posted.id,
        thread_id=posted.thread_id,
        subject=draft.subject,
        created_at=tx.at,
        deliveries=[_unseen(tx, target, target.name or label(tx, target.box)) for target in posted.targets],
    )


def _unseen(tx: Tx, target: Target, name: str) -> ops.Recipient:
    return ops.Recipient(
        recipient=target.box,
        box=target.box,
        name=name,
        status=Status.SENT,
        via=None,
        by=None,
        reason=target.reason,
        delivered_at=None,
        read_at=None,
        acknowledged_at=None,
        expired_at=None,
        note=_held_up(tx, target.box, name),
    )


def _held_up(tx: Tx, box: str, name: str) -> str | None:
    """Why a recipient does not hear of it now, if its program lets nothing in before its turn is over."""
    route = tx.sessions.route(box) if box.startswith("ses_") else None
    deaf = registry.deaf_at_work(route.tool) if route is not None else ()
    talk = tx.talks.get(box) if deaf else None
    if talk is None or talk.driver not in deaf or talk.turn not in (Turn.WORKING, Turn.ASKING):
        return None
    return f"{name} is at work, and its program lets nothing in before its turn is over: it is told then"


def recipients(tx: Tx, message: Message) -> list[ops.Recipient]:
    return [_recipient(tx, delivery) for delivery in tx.deliveries.of_message(message.seq)]


def _recipient(tx: Tx, delivery: Delivery) -> ops.Recipient:
    name = label(tx, delivery.box)
    note = _held_up(tx, delivery.box, name) if delivery.status is Status.SENT else None
    return ops.Recipient(**msgspec.structs.asdict(delivery), name=name, note=note)


class ReceiptWaits:
    """Blocks a sender until its message is as far as it wants."""

    def __init__(self, store: Store, hub: Hub) -> None:
        self._store = store
        self._hub = hub

    async def after(self, caller: Caller, request: Any, answer: ops.SentMail) -> ops.SentMail:
        """The answer to a send, held back until the receipts are there; without them it is not confirmed."""
        if request.wait_for is None:
            return answer
        with self._hub.subscribe([answer.id]) as subscription:
            try:
                async with asyncio.timeout(request.timeout / 1000):
                    now = await self.look(answer)
                    while not _settled(now.deliveries, request.wait_for):
                        await subscription.wait()
                        subscription.take()
                        now = await self.look(answer)
            except TimeoutError:
                now = await self.look(answer)
        if all(has_reached(delivery.status, request.wait_for) for delivery in now.deliveries):
            return now
        raise _not_confirmed(now, request.wait_for)

    async def look(self, answer: ops.SentMail) -> ops.SentMail:
        """A message with its receipts as they are now."""

        def now(tx: Tx) -> ops.SentMail:
            message = tx.mail.get(answer.id)
            return msgspec.structs.replace(answer, deliveries=recipients(tx, message) if message else [])

        return await self._store.read(now, quick=True)


def _settled(deliveries: Sequence[Delivery], step: Step) -> bool:
    """Whether there is nothing left to wait for: each is far enough, or will never be."""
    return all(has_reached(one.status, step) or one.status is Status.EXPIRED for one in deliveries)


def _not_confirmed(now: ops.SentMail, step: Step) -> errors.NotConfirmed:
    states = ", ".join(f"{delivery.name} {delivery.status}" for delivery in now.deliveries)
    return errors.NotConfirmed(
        f"It is stored, but not {step} by everyone: {states}.",
        hint=f"Look again later: maestro mail status {now.id}",
        data=msgspec.to_builtins(now),
    )


def _letter(box: str) -> str:
    return _LETTERS.get(box[:4], "h")


def _items(receipt: str) -> list[tuple[str, int, bool]]:
    if not is_receipt(receipt):
        raise errors.Invalid("This is not the cursor of an inbox.")
    found = []
    for item in receipt.removeprefix(_PREFIX).split(","):
        match = _ITEM.fullmatch(item)
        if match is None:
            raise errors.Invalid("This is not the cursor of an inbox.")
        found.append((match[1], int(match[2], 16), bool(match[3])))
    return found
