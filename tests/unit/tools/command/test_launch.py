"""Any program can be launched as an agent, with its arguments and environment unchanged."""

from __future__ import annotations

from pathlib import Path

import pytest
from launch_requests import ENVIRONMENT, launch_request

from maestro.core.errors import Invalid
from maestro.tools.command.launch import prepare_launch, typed_prompt


def test_the_caller_s_own_program_is_launched_unchanged(tmp_path: Path) -> None:
    launch = prepare_launch(launch_request("command", tmp_path, arguments=["./work.sh", "-x"]), ENVIRONMENT)
    assert launch.arguments == ["./work.sh", "-x"] and launch.environment == ENVIRONMENT
    assert launch.terminal and launch.conversation is None


def test_a_launch_without_a_program_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="needs a program") as refused:
        prepare_launch(launch_request("command", tmp_path), ENVIRONMENT)
    assert "-- PROGRAM" in refused.value.hint


def test_a_typed_prompt_is_a_single_line_without_control_characters() -> None:
    assert typed_prompt("Go on.") == b"Go on.\n"
    typed = typed_prompt("a\x03b\x1b[A")
    assert typed is not None and b"\x03" not in typed and b"\x1b" not in typed
