"""Gates: commands that must pass before a task counts as completed, and what each said."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec


class GateResult(msgspec.Struct, frozen=True, kw_only=True):
    """What one gate command said about a task: evidence, kept."""

    id: str
    task_id: str
    session_id: str | None
    command: str
    passed: bool
    exit_code: int | None  # none: it took too long
    seconds: float
    created_at: datetime


def verdict(results: Sequence[GateResult], output: str) -> str:
    """Why a task goes back: the first gate that did not pass, and the end of what it said."""
    failed = next(one for one in results if not one.passed)
    how = f"exit code {failed.exit_code}" if failed.exit_code is not None else "it took too long"
    end = "\n".join(output.strip().splitlines()[-20:])
    return f"The gate `{failed.command}` did not pass ({how}).\n\n{end}".rstrip()
