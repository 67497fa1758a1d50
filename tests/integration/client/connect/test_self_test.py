"""The self-test runs a hook as its tool runs the hook, and checks the answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from maestro.client.connect.self_test import run_hook

ANSWERS = 'cat > payload; echo \'{"maestro": "ok", "event": "\'$2\'"}\' #'


def hook(folder: Path, script: str) -> str:
    """Return the command of a hook that runs a shell script."""
    program = folder / "hook"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return f"{program} gemini AfterTool"


def test_a_hook_that_answers_passes_and_gets_a_marked_payload(tmp_path: Path) -> None:
    result = run_hook(hook(tmp_path, ANSWERS), tmp_path)
    assert (result.event, result.problem) == ("AfterTool", "") and result.milliseconds > 0
    payload = json.loads((tmp_path / "payload").read_text())
    assert payload == {"maestro_test": "connect", "hook_event_name": "AfterTool", "cwd": str(tmp_path)}


@pytest.mark.parametrize(
    "script",
    [
        "true",
        "echo nonsense",
        "echo '[]'",
        'echo \'{"maestro": "ok", "event": "Stop"}\'',
        'echo \'{"maestro": "no", "event": "AfterTool"}\'',
    ],
)
def test_a_hook_without_the_answer_of_a_server_fails(tmp_path: Path, script: str) -> None:
    assert "the server did not answer" in run_hook(hook(tmp_path, script), tmp_path).problem


def test_the_exit_code_and_the_last_line_of_errors_are_named(tmp_path: Path) -> None:
    assert run_hook(hook(tmp_path, "echo first >&2; echo last >&2; exit 3"), tmp_path).problem == "exit code 3: last"
    assert run_hook(hook(tmp_path, "exit 4"), tmp_path).problem == "exit code 4: "
    assert run_hook(f"{tmp_path}/missing gemini Stop", tmp_path).problem.startswith("exit code 127: ")
