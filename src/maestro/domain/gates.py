"""Gates: commands that must pass before a task counts as completed, and what each said."""

from __future__ import annotations

from datetime import datetime

import msgspec

from maestro.domain.sandboxes import Mode


class GateResult(msgspec.Struct, frozen=True, kw_only=True):
    """What one gate command said about a task: evidence, kept."""

    id: str
    task_id: str
    session_id: str | None
    command: str
    passed: bool
    exit_code: int | None  # none: it took too long, or could not be run
    seconds: float
    created_at: datetime
    sandbox: Mode = Mode.NONE  # in which the gate ran, or should have run


def verdict(failed: GateResult, output: str, *, is_timed_out: bool) -> str:
    """Why a task goes back: the gate that did not pass, and the end of what it said."""
    end = "\n".join(output.strip().splitlines()[-20:])
    told = f"{how(failed, is_timed_out=is_timed_out)}; sandbox: {failed.sandbox}"
    return f"The gate `{failed.command}` did not pass ({told}).\n\n{end}".rstrip()


def how(failed: GateResult, *, is_timed_out: bool) -> str:
    """How a gate ended that did not pass."""
    if failed.exit_code is not None:
        return f"exit code {failed.exit_code}"
    return f"it took longer than {failed.seconds:.0f} seconds" if is_timed_out else "it could not be run"
