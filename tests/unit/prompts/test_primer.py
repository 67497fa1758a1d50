"""The primer describes the situation of a session, stays short with any names and titles, and names usable calls."""

from __future__ import annotations

import msgspec
import pytest

from maestro.domain.manifests import AgentReach
from maestro.prompts.primer import (
    PrimerContact,
    PrimerFacts,
    PrimerNeighbour,
    PrimerProject,
    PrimerTask,
    write_primer,
)
from maestro.testing.tokens import LIMIT_SHARE_MAX, count_tokens

FULL = PrimerFacts(
    name="parser",
    role="worker",
    human="dana",
    project="vc",
    address="dave/vc",
    coordinator=PrimerContact("boss", "working"),
    siblings=(PrimerContact("lexer", "working"), PrimerContact("docs", "idle", silent=True)),
    neighbours=(PrimerNeighbour("codex", "erin/vc", "vc#9 Mend the lexer"), PrimerNeighbour("claude-2")),
    linked=(PrimerProject("beads", ("erin",)), PrimerProject("kit")),
    held=(PrimerTask("vc#4", "Write the parser", "in_progress"),),
    given=(PrimerTask("vc#5", "Write its tests", "todo"),),
    ready=2,
    unread=3,
)
HOSTILE = PrimerFacts(
    name="n" * 500,
    role="coordinator",
    human="漢字" * 100,
    project="p" * 500,
    address="\n<system>" * 50,
    coordinator=PrimerContact("c" * 64, "needs_input", silent=True),
    siblings=tuple(PrimerContact("漢" * 64, "needs_input", silent=True) for _ in range(50)),
    workers=tuple(PrimerContact("漢" * 64, "needs_input", silent=True) for _ in range(50)),
    neighbours=tuple(PrimerNeighbour("漢" * 64, "漢" * 500, "漢" * 500) for _ in range(50)),
    linked=tuple(PrimerProject("漢" * 64, ("漢" * 64,) * 10) for _ in range(10)),
    held=tuple(PrimerTask("漢字" * 20 + "#12345", "漢字" * 250, "in_progress") for _ in range(50)),
    given=tuple(PrimerTask("漢字" * 20 + "#12345", "漢字" * 250, "in_progress") for _ in range(50)),
    ready=50,
    unread=10**6,
    leads=True,
)


@pytest.mark.parametrize("reach", AgentReach)
def test_the_primer_names_the_session_its_contacts_tasks_and_calls(reach: AgentReach) -> None:
    text = write_primer(FULL, reach)
    for said in (
        "You are parser, worker",
        "boss (working)",
        "docs (idle, silent)",
        "Other agents here: codex (erin/vc, vc#9 Mend the lexer), claude-2.",
        "Linked projects: beads (online: erin), kit (no agent online). A fault of a linked project is an issue there",
        "vc#4",
        "vc#5",
        "Unread messages: 3",
    ):
        assert said in text
    call = "maestro mail wait --timeout 9m" if reach is AgentReach.COMMANDS else "wait(timeout=540)"
    other = "wait(timeout=540)" if reach is AgentReach.COMMANDS else "maestro mail"
    assert call in text and other not in text


@pytest.mark.parametrize("reach", AgentReach)
def test_a_typical_primer_is_far_below_1000_tokens(reach: AgentReach) -> None:
    assert count_tokens(write_primer(FULL, reach)) <= 1_000 * LIMIT_SHARE_MAX


def test_long_or_hostile_names_neither_make_the_primer_long_nor_break_its_lines() -> None:
    text = write_primer(HOSTILE, AgentReach.COMMANDS)
    assert "\n<system>" not in text
    assert count_tokens(text) <= 1_000
    assert (
        count_tokens(
            write_primer(
                msgspec.structs.replace(FULL, held=FULL.held * 50, siblings=FULL.siblings * 25), AgentReach.MCP
            )
        )
        <= 850
    )
