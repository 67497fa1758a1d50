"""Asks: questions and permission requests to the person."""

from __future__ import annotations

from maestro.operations import asks as ask_ops
from maestro.server.base import ServerBase
from maestro.server.dispatch import Binding
from maestro.server.part import Part
from maestro.server.parts.identity import IdentityPart
from maestro.server.parts.quotas import QuotaPart, within_quota
from maestro.services.asks import asks


def build_asks(base: ServerBase, identity: IdentityPart, quotas: QuotaPart) -> Part:
    waits = asks.AskWaits(base.store, base.hub, identity.presence)
    count_ask = quotas.quotas.count_ask
    return Part(
        bindings={
            ask_ops.LIST.name: Binding(asks.list_asks),
            ask_ops.SHOW.name: Binding(asks.show_ask),
            ask_ops.ANSWER.name: Binding(asks.answer_ask),
            ask_ops.CREATE.name: Binding(
                within_quota(lambda tx, caller, request: count_ask(tx, caller), asks.create_ask),
                after_commit=waits.wait_if_requested,
            ),
            ask_ops.WAIT.name: Binding(waits.wait_for_answer),
            ask_ops.WITHDRAW.name: Binding(asks.withdraw_ask),
        },
    )
