"""An effect calls the handlers that are bound to it, in order, within the transaction of a change."""

from __future__ import annotations

import pytest

from maestro.services import effects


def test_handlers_run_in_the_order_of_the_binding() -> None:
    calls: list[tuple[str, int]] = []
    effect: effects.TransactionEffect[[int]] = effects.TransactionEffect()
    effect.bind(lambda number: calls.append(("first", number)), lambda number: calls.append(("second", number)))
    effect(7)
    assert calls == [("first", 7), ("second", 7)]


def test_a_second_binding_replaces_the_first() -> None:
    calls: list[str] = []
    effect: effects.TransactionEffect[[]] = effects.TransactionEffect()
    effect.bind(lambda: calls.append("first"))
    effect.bind(lambda: calls.append("second"))
    effect()
    assert calls == ["second"]


def test_a_handler_that_refuses_stops_the_handlers_after_it() -> None:
    def refuse() -> None:
        raise ValueError("refused")

    calls: list[str] = []
    effect: effects.TransactionEffect[[]] = effects.TransactionEffect()
    effect.bind(refuse, lambda: calls.append("second"))
    with pytest.raises(ValueError, match="refused"):
        effect()
    assert calls == []


def test_an_effect_without_handlers_raises_an_assertion_error() -> None:
    effect: effects.TransactionEffect[[int]] = effects.TransactionEffect()
    with pytest.raises(AssertionError):
        effect(7)
