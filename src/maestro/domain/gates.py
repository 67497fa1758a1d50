"""Gates: commands that must pass before a task counts as completed, and their results."""

from __future__ import annotations

from datetime import datetime

import msgspec

from maestro.domain.sandboxes import SandboxMode


class GateResult(msgspec.Struct, frozen=True, kw_only=True):
    """The kept result of one gate command for a task."""

    id: str
    task_id: str
    session_id: str | None
    command: str
    passed: bool
    exit_code: int | None  # none: the gate took too long, or could not be run
    seconds: float
    created_at: datetime
    sandbox: SandboxMode = SandboxMode.NONE  # the sandbox in which the gate ran, or should have run


def rejection_reason(failed: GateResult, output: str, *, is_timed_out: bool) -> str:
    """Return why a task is rejected: the gate that did not pass, and the last lines of its output."""
    last_lines = "\n".join(output.strip().splitlines()[-20:])
    cause = f"{failure_cause(failed, is_timed_out=is_timed_out)}; sandbox: {failed.sandbox}"
    return f"The gate `{failed.command}` did not pass ({cause}).\n\n{last_lines}".rstrip()


def failure_cause(failed: GateResult, *, is_timed_out: bool) -> str:
    """Return how a failed gate ended: an exit code, a time limit, or a failed start."""
    if failed.exit_code is not None:
        return f"exit code {failed.exit_code}"
    return f"it took longer than {failed.seconds:.0f} seconds" if is_timed_out else "it could not be run"
