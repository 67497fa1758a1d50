"""Mail that hooks have shown an agent, and that is not known to have come to its model."""

from __future__ import annotations

from maestro.domain.callers import Caller
from maestro.domain.messages import Step
from maestro.operations.mail_shapes import Confirm
from maestro.services.mail import receipts
from maestro.store.base import Tx


def places(tx: Tx, session_id: str) -> set[int]:
    """The messages."""
    return set[int]().union(*map(receipts.places, tx.hooks.answers_of(session_id)))


def is_read(tx: Tx, caller: Caller, shown: list[str], *, via: str) -> None:
    """Its model was asked since."""
    for receipt in shown:
        receipts.confirm(tx, caller, Confirm(receipt=receipt, step=Step.READ, via=via))
        tx.hooks.drop_answer(caller.name, receipt)  # and no other: more may have come in at the same moment


def turn_ended(tx: Tx, session_id: str, *, well: bool) -> None:
    """A turn that ends well ends with words of the model, so it has all that was shown before. Of any other nobody
    knows: then it is offered again."""
    caller = tx.sessions.caller(session_id)
    if well and caller is not None:
        is_read(tx, caller, tx.hooks.answers_of(session_id), via="hook")
    else:
        tx.hooks.clear_answers(session_id)
