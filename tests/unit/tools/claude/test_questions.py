"""Tests of questions of Claude to its user."""

from __future__ import annotations

from typing import Any

import pytest

from maestro.tools.claude.questions import answer_input, find_question

GIVEN = {"questions": [{"question": "Which grammar?", "options": [{"label": "PEG"}]}, {"question": "Why?"}], "id": 7}


def test_the_question_tool_asks_all_its_questions() -> None:
    found = find_question("AskUserQuestion", GIVEN)
    assert found is not None and found.choices == ("PEG",)
    assert "Which grammar?" in found.text and "Why?" in found.text


@pytest.mark.parametrize(
    ("tool", "given"),
    [("Bash", GIVEN), ("AskUserQuestion", {}), ("AskUserQuestion", {"questions": []}), ("AskUserQuestion", {"questions": "x"})],
)  # fmt: skip
def test_other_calls_ask_no_question(tool: str, given: dict[str, Any]) -> None:
    assert find_question(tool, given) is None


def test_answers_are_added_to_the_input_under_their_questions() -> None:
    assert answer_input(GIVEN, "PEG\nbecause") == {**GIVEN, "answers": {"Which grammar?": "PEG", "Why?": "because"}}
    assert "answers" not in GIVEN
