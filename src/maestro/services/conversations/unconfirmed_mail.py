"""Unconfirmed mail of hook replies: the agent's model may not have read the mail yet."""

from __future__ import annotations

from maestro.domain.callers import Caller
from maestro.domain.messages import ReceiptStep
from maestro.operations.mail_shapes import ConfirmReceipt
from maestro.services.mail import receipts
from maestro.store.base import Tx


def unconfirmed_messages(tx: Tx, session_id: str) -> set[int]:
    """Return the sequence numbers of the session's unconfirmed messages."""
    return set[int]().union(*map(receipts.sequence_numbers, tx.hooks.answers_of(session_id)))


def mark_read(tx: Tx, caller: Caller, shown_receipts: list[str], *, via: str) -> None:
    """Mark the mail of the given receipts as read: the model was asked after the mail was shown."""
    for receipt in shown_receipts:
        receipts.confirm(tx, caller, ConfirmReceipt(receipt=receipt, step=ReceiptStep.READ, via=via))
        tx.hooks.drop_answer(caller.name, receipt)  # only these receipts: a simultaneous hook may have added more


def settle_at_turn_end(tx: Tx, session_id: str, *, has_succeeded: bool) -> None:
    """Settle the unconfirmed mail at the end of a turn.

    A turn that succeeds ends with an answer of the model, so the model has read all shown mail. After any other turn
    this is unknown: the mail is offered again.
    """
    caller = tx.sessions.live_caller(session_id)
    if has_succeeded and caller is not None:
        mark_read(tx, caller, tx.hooks.answers_of(session_id), via="hook")
    else:
        tx.hooks.clear_answers(session_id)
