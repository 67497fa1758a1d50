"""Test the texts that Maestro writes to a tracker."""

from __future__ import annotations

import pytest

from maestro.core import limits
from maestro.domain.tasks import TaskStatus
from maestro.domain.trackers import marked_message_id
from maestro.services.trackers import texts
from maestro.testing.factories import make_message, make_task


def test_the_description_of_an_issue_ends_with_the_opener_and_the_task() -> None:
    text = texts.issue_description(make_task(description="Broken.\n"), None, opener="ada", project="vc")
    assert text == "Broken.\n\nOpened by ada of vc; vc#1 in Maestro."


def test_a_long_description_is_cut_and_names_the_command_for_the_rest() -> None:
    task = make_task(description="z" * (limits.tracker_text_chars_max + 1))
    text = texts.issue_description(task, None, opener="ada", project="vc")
    assert text.count("z") == limits.tracker_text_chars_max
    assert "maestro issue show vc#1" in text


def test_a_description_of_the_greatest_length_is_not_cut() -> None:
    task = make_task(description="x" * limits.tracker_text_chars_max)
    assert "cut short" not in texts.issue_description(task, None, opener="ada", project="vc")


def test_a_comment_contains_the_id_of_its_message() -> None:
    message = make_message(body="Fixed.")
    comment = texts.comment_text(message)
    assert comment.startswith("Fixed.\n") and marked_message_id(comment) == message.id


def test_a_comment_of_a_truncated_message_names_the_command_for_the_rest() -> None:
    message = make_message(body="Begin", truncated=True)
    assert f"maestro mail show {message.id}" in texts.comment_text(message)


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (TaskStatus.COMPLETED, "Done (vc#1 in Maestro)"),
        (TaskStatus.CANCELLED, "Will not be done (vc#1 in Maestro)"),
        (TaskStatus.FAILED, "Failed (vc#1 in Maestro)"),
    ],
)
def test_the_reason_of_a_close_depends_on_the_status_of_the_task(status: TaskStatus, text: str) -> None:
    assert texts.close_reason(make_task(status=status)) == text
