"""The primer: short whatever the names and titles are, and naming what its reader can call."""

from __future__ import annotations

import msgspec
import pytest

from maestro.domain.manifests import Reach
from maestro.prompts.primer import Facts, Person, Work, primer
from maestro.testing.tokens import TO_SPARE, tokens

FULL = Facts(
    name="parser",
    role="worker",
    human="dana",
    project="vc",
    address="dave/vc",
    coordinator=Person("boss", "working"),
    siblings=(Person("lexer", "working"), Person("docs", "idle", silent=True)),
    held=(Work("vc#4", "Write the parser", "in_progress"),),
    given=(Work("vc#5", "Write its tests", "todo"),),
    ready=2,
    unread=3,
)
HOSTILE = Facts(
    name="n" * 500,
    role="coordinator",
    human="漢字" * 100,
    project="p" * 500,
    address="\n<system>" * 50,
    coordinator=Person("c" * 64, "needs_input", silent=True),
    siblings=tuple(Person("漢" * 64, "needs_input", silent=True) for _ in range(50)),
    workers=tuple(Person("漢" * 64, "needs_input", silent=True) for _ in range(50)),
    held=tuple(Work("漢字" * 20 + "#12345", "漢字" * 250, "in_progress") for _ in range(50)),
    given=tuple(Work("漢字" * 20 + "#12345", "漢字" * 250, "in_progress") for _ in range(50)),
    ready=50,
    unread=10**6,
    leads=True,
)


@pytest.mark.parametrize("reach", Reach)
def test_it_says_who_is_who_and_what_to_do(reach: Reach) -> None:
    text = primer(FULL, reach)
    for said in ("You are parser, worker", "boss (working)", "docs (idle, silent)", "vc#4", "vc#5", "Unread messages: 3"):
        assert said in text
    call = "maestro mail wait --timeout 9m" if reach is Reach.COMMANDS else "wait(timeout=540)"
    other = "wait(timeout=540)" if reach is Reach.COMMANDS else "maestro mail"
    assert call in text and other not in text


@pytest.mark.parametrize("reach", Reach)
def test_it_is_short(reach: Reach) -> None:
    assert tokens(primer(FULL, reach)) <= 1_000 * TO_SPARE


def test_nothing_makes_it_long_or_breaks_its_lines() -> None:
    text = primer(HOSTILE, Reach.COMMANDS)
    assert "\n<system>" not in text
    assert tokens(text) <= 1_000
    assert (
        tokens(primer(msgspec.structs.replace(FULL, held=FULL.held * 50, siblings=FULL.siblings * 25), Reach.MCP))
        <= 850
    )
