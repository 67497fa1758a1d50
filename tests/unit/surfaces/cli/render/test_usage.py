"""The usage of a session is added up and shown as a text of one line."""

from __future__ import annotations

from maestro.domain.conversations import SessionUsage
from maestro.surfaces.cli.render.usage import usage_text


def usage(*, turns: int = 1, cost_usd: float | None = None) -> SessionUsage:
    return SessionUsage(
        session_id="ses_1",
        task_id=None,
        turns=turns,
        input_tokens=1_000,
        output_tokens=20,
        cached_tokens=500,
        cost_usd=cost_usd,
    )


def test_no_usage_gives_no_text() -> None:
    assert usage_text([]) is None


def test_cached_tokens_are_counted_as_input_tokens() -> None:
    assert usage_text([usage()]) == "1 turn, 1,500 tokens in, 20 out"


def test_the_usage_of_several_tasks_is_added() -> None:
    assert usage_text([usage(turns=2), usage()]) == "3 turns, 3,000 tokens in, 40 out"


def test_known_costs_are_added_and_unknown_costs_are_left_out() -> None:
    assert usage_text([usage(cost_usd=0.5), usage(), usage(cost_usd=0.0)]) == (
        "3 turns, 4,500 tokens in, 60 out, $0.5000"
    )
    assert usage_text([usage(cost_usd=0.0)]) == "1 turn, 1,500 tokens in, 20 out, $0.0000"
