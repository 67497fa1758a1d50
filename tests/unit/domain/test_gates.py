"""The texts about a gate that did not pass name its command, its cause, its sandbox and its output."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from maestro.domain.gates import GateResult, failure_cause, rejection_reason
from maestro.domain.sandboxes import SandboxMode


def gate_result(**fields: Any) -> GateResult:
    values: dict[str, Any] = {
        "id": "gat_1",
        "task_id": "tsk_1",
        "session_id": None,
        "command": "make test",
        "passed": False,
        "exit_code": 2,
        "seconds": 1.2,
        "created_at": datetime(2026, 1, 1, tzinfo=UTC),
    }
    return GateResult(**{**values, **fields})


def test_the_cause_of_a_failed_gate_is_its_exit_code() -> None:
    assert failure_cause(gate_result(exit_code=2), is_timed_out=False) == "exit code 2"
    assert failure_cause(gate_result(exit_code=0), is_timed_out=False) == "exit code 0"


def test_the_cause_of_a_gate_over_its_time_limit_names_the_seconds() -> None:
    timed_out = gate_result(exit_code=None, seconds=600.4)
    assert failure_cause(timed_out, is_timed_out=True) == "it took longer than 600 seconds"


def test_the_cause_of_a_gate_without_an_exit_code_is_that_it_could_not_be_run() -> None:
    assert failure_cause(gate_result(exit_code=None), is_timed_out=False) == "it could not be run"


def test_a_rejection_names_command_cause_sandbox_and_output() -> None:
    reason = rejection_reason(gate_result(sandbox=SandboxMode.BUBBLEWRAP), "\n1 failed\n\n", is_timed_out=False)
    assert reason == "The gate `make test` did not pass (exit code 2; sandbox: bubblewrap).\n\n1 failed"


def test_a_rejection_contains_the_last_twenty_lines_of_the_output() -> None:
    output = "\n".join(f"line {number}" for number in range(1, 31))
    shown = rejection_reason(gate_result(), output, is_timed_out=False).splitlines()[2:]
    assert shown == [f"line {number}" for number in range(11, 31)]


def test_a_rejection_without_output_ends_after_its_first_line() -> None:
    reason = rejection_reason(gate_result(), " \n", is_timed_out=False)
    assert reason.splitlines() == ["The gate `make test` did not pass (exit code 2; sandbox: none)."]
