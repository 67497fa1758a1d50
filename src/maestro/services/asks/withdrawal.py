"""Withdraw asks whose program no longer waits for an answer."""

from __future__ import annotations

from maestro.core import limits
from maestro.domain import asks as rules
from maestro.domain.callers import Caller
from maestro.operations import asks as ops
from maestro.services.asks import asks
from maestro.store.base import Tx


def withdraw_asks(tx: Tx, caller: Caller, ask_ids: list[str]) -> None:
    """Withdraw the asks that are still open."""
    for ask_id in ask_ids:
        ask = tx.asks.get(ask_id)
        if ask is not None and ask.status is rules.AskStatus.OPEN:
            asks.withdraw_ask(tx, caller, ops.OneAsk(id=ask_id))


def withdraw_permission_asks(tx: Tx, caller: Caller) -> None:
    """Withdraw the open permission asks of a program that no longer waits for an answer.

    The agent's own asks stay open: the agent may wait for their answers after its turn.
    """
    open_asks = tx.asks.open_asks_of_calls(caller.name, limit=limits.page_items_default)
    withdraw_asks(tx, caller, [ask.id for ask in open_asks if ask.kind is rules.AskKind.PERMISSION])
