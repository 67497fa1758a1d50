"""Every effect across nouns has its handlers."""

from __future__ import annotations

import pytest

import maestro.server.effects  # noqa: F401  binds the effects
from maestro.services import effects

EFFECTS = {name: value for name, value in vars(effects).items() if isinstance(value, effects.TransactionEffect)}


@pytest.mark.parametrize("name", sorted(EFFECTS))
def test_an_effect_is_bound(name: str) -> None:
    assert EFFECTS[name]._handlers


def test_handlers_run_in_their_order() -> None:
    calls: list[tuple[str, int]] = []
    effect: effects.TransactionEffect[[int]] = effects.TransactionEffect()
    effect.bind(lambda number: calls.append(("first", number)), lambda number: calls.append(("second", number)))
    effect(7)
    assert calls == [("first", 7), ("second", 7)]


def test_an_effect_without_handlers_is_a_fault_of_the_wiring() -> None:
    effect: effects.TransactionEffect[[int]] = effects.TransactionEffect()
    with pytest.raises(AssertionError):
        effect(7)
