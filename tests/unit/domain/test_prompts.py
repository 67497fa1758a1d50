"""A live prompt has its first line as subject, and stored mail is recognised as a live prompt."""

from __future__ import annotations

from typing import Any

import pytest

from maestro.domain.messages import Message, MessageType
from maestro.domain.priorities import Priority
from maestro.domain.prompts import PROMPT_PRIORITY, PROMPT_TYPE, is_prompt, prompt_subject
from maestro.testing.factories import make_message


def prompt_message(**fields: Any) -> Message:
    body = fields.get("body", "Stop.\nRead the grammar first.")
    values = {"type": PROMPT_TYPE, "priority": PROMPT_PRIORITY, "body": body, "subject": prompt_subject(body)}
    message: Message = make_message(**{**values, **fields})
    return message


@pytest.mark.parametrize(
    ("text", "subject"),
    [("Stop.\nRead on.", "Stop."), ("\n\n  Stop. \n", "Stop."), ("x" * 201, "x" * 200), (" \n", "Prompt"), ("", "Prompt")],
)  # fmt: skip
def test_the_subject_of_a_live_prompt_is_the_first_line_of_its_text(text: str, subject: str) -> None:
    assert prompt_subject(text) == subject


def test_mail_with_type_priority_and_subject_of_a_live_prompt_is_recognised() -> None:
    assert is_prompt(prompt_message())
    assert is_prompt(prompt_message(body="x" * 500))


@pytest.mark.parametrize(
    "fields", [{"type": MessageType.QUERY}, {"priority": Priority.CRITICAL}, {"subject": "Another subject"}]
)
def test_mail_with_another_type_priority_or_subject_is_not_a_live_prompt(fields: dict[str, Any]) -> None:
    assert not is_prompt(prompt_message(**fields))
