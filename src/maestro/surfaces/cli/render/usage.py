"""Render the usage of sessions on one line."""

from __future__ import annotations

from collections.abc import Sequence

from maestro.domain.conversations import SessionUsage


def usage_text(used: Sequence[SessionUsage]) -> str | None:
    """Return the sum of all usage, or None if `used` is empty."""
    if not used:
        return None
    turns = sum(part.turns for part in used)
    input_tokens = sum(part.input_tokens + part.cached_tokens for part in used)
    output_tokens = sum(part.output_tokens for part in used)
    costs = [part.cost_usd for part in used if part.cost_usd is not None]
    cost = f", ${sum(costs):.4f}" if costs else ""
    return f"{turns} turn{'s' if turns != 1 else ''}, {input_tokens:,} tokens in, {output_tokens:,} out{cost}"
