"""Tests of the way in which Gemini's model waits for mail."""

from __future__ import annotations

from maestro.tools.gemini.waiting import MODEL_WAIT, pipe_path


def test_the_command_reads_the_pipe_without_a_substitution() -> None:
    assert MODEL_WAIT.wait_command("/s/a b") == "cat '/s/a b/in'"
    assert pipe_path("/s/a b") == "/s/a b/in"


def test_instructions_and_reminder_contain_the_command() -> None:
    command = MODEL_WAIT.wait_command("/s")
    assert f"`{command}` and is_background true" in MODEL_WAIT.instructions("/s")
    assert f"`{command}` and is_background true" in MODEL_WAIT.reminder("/s")


def test_the_notice_is_one_line_and_counts_the_messages() -> None:
    assert "a message has arrived" in MODEL_WAIT.mail_notice(1)
    assert "3 messages have arrived" in MODEL_WAIT.mail_notice(3)
    assert "\n" not in MODEL_WAIT.mail_notice(3)
