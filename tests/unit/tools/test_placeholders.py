"""Placeholders in a command line are replaced by the values of the runner."""

from __future__ import annotations

from maestro.tools.placeholders import CONVERSATION_PLACEHOLDER, fill_placeholders


def test_every_placeholder_in_a_command_line_is_replaced() -> None:
    arguments = ["codex", "resume", CONVERSATION_PLACEHOLDER, f"--id={CONVERSATION_PLACEHOLDER}"]
    assert fill_placeholders(arguments, conversation="thr_1") == ["codex", "resume", "thr_1", "--id=thr_1"]
    assert arguments[2] == CONVERSATION_PLACEHOLDER, "The given list was changed."


def test_a_command_line_without_placeholders_stays_unchanged() -> None:
    assert fill_placeholders(["sh", "{conversation}"], conversation="thr_1") == ["sh", "{conversation}"]
