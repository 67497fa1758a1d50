"""Questions in a call of Claude's question tool are found, and answers are added to the input of the call."""

from __future__ import annotations

from typing import Any

import pytest

from maestro.tools.claude.questions import answer_input, find_question

GIVEN = {"questions": [{"question": "Which grammar?", "options": [{"label": "PEG"}]}, {"question": "Why?"}], "id": 7}


def test_all_questions_of_a_question_call_are_found() -> None:
    found = find_question("AskUserQuestion", GIVEN)
    assert found is not None and found.choices == ("PEG",)
    assert "Which grammar?" in found.text and "Why?" in found.text


@pytest.mark.parametrize(
    ("tool", "given"),
    [("Bash", GIVEN), ("AskUserQuestion", {}), ("AskUserQuestion", {"questions": []}), ("AskUserQuestion", {"questions": "x"})],
)  # fmt: skip
def test_no_question_is_found_in_other_calls(tool: str, given: dict[str, Any]) -> None:
    assert find_question(tool, given) is None


def test_answers_are_added_to_the_input_under_their_questions() -> None:
    assert answer_input(GIVEN, "PEG\nbecause") == {**GIVEN, "answers": {"Which grammar?": "PEG", "Why?": "because"}}
    assert "answers" not in GIVEN
