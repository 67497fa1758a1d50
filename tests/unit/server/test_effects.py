"""Every effect of a change on other nouns has at least one handler."""

from __future__ import annotations

import pytest

import maestro.server.effects  # noqa: F401  binds the effects
from maestro.services import effects

EFFECTS = {name: value for name, value in vars(effects).items() if isinstance(value, effects.TransactionEffect)}


@pytest.mark.parametrize("name", sorted(EFFECTS))
def test_every_effect_has_a_handler(name: str) -> None:
    assert EFFECTS[name]._handlers
