"""The model of Gemini waits for mail with a background command that reads a pipe."""

from __future__ import annotations

from maestro.tools.gemini.waiting import MODEL_WAIT, pipe_path


def test_the_wait_command_reads_the_pipe_without_a_shell_substitution() -> None:
    assert MODEL_WAIT.wait_command("/s/a b") == "cat '/s/a b/in'"
    assert pipe_path("/s/a b") == "/s/a b/in"


def test_instructions_and_reminder_contain_the_wait_command() -> None:
    command = MODEL_WAIT.wait_command("/s")
    assert f"`{command}` and is_background true" in MODEL_WAIT.instructions("/s")
    assert f"`{command}` and is_background true" in MODEL_WAIT.reminder("/s")


def test_the_announcement_of_mail_is_a_single_line_with_the_message_count() -> None:
    assert "a message has arrived" in MODEL_WAIT.mail_announcement(1)
    assert "3 messages have arrived" in MODEL_WAIT.mail_announcement(3)
    assert "\n" not in MODEL_WAIT.mail_announcement(3)
