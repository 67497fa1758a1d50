"""What sessions have taken, on one line."""

from __future__ import annotations

from collections.abc import Sequence

from maestro.domain.talks import Used


def taken(used: Sequence[Used]) -> str | None:
    """All of it together; nothing for nothing."""
    if not used:
        return None
    turns, told = sum(one.turns for one in used), sum(one.input_tokens + one.cached_tokens for one in used)
    said = sum(one.output_tokens for one in used)
    costs = [one.cost_usd for one in used if one.cost_usd is not None]
    cost = f", ${sum(costs):.4f}" if costs else ""
    return f"{turns} turn{'s' if turns != 1 else ''}, {told:,} tokens in, {said:,} out{cost}"
