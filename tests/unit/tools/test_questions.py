"""Several questions are merged into one ask, and its answer is split into an answer for each question."""

from __future__ import annotations

from typing import Any

import pytest

from maestro.tools import questions


def options(*labels: str) -> list[dict[str, Any]]:
    return [{"label": label, "description": f"the {label}"} for label in labels]


GRAMMAR = {"question": "Which grammar?", "options": options("PEG", "LALR")}
NAME = {"question": "Which name?", "options": options("Ada", "Bob")}
WHY = {"question": "Why?"}


def test_a_single_question_is_shown_with_its_choices() -> None:
    found = questions.merge_questions([GRAMMAR])
    assert found == questions.MergedQuestion("Which grammar?", "PEG: the PEG\nLALR: the LALR", ("PEG", "LALR"))


def test_several_questions_are_all_shown_with_their_choices() -> None:
    found = questions.merge_questions([GRAMMAR, NAME, WHY])
    assert (found.title, found.choices) == ("Which grammar? (and 2 more)", ("PEG", "LALR"))
    assert found.text.splitlines() == [
        "1. Which grammar?",
        "   PEG: the PEG",
        "   LALR: the LALR",
        "2. Which name?",
        "   Ada: the Ada",
        "   Bob: the Bob",
        "3. Why?",
        "Answer with one line for each question, in this order.",
    ]


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("PEG\nBob\nbecause", ["PEG", "Bob", "because"]),
        ("peg\n2\n7", ["PEG", "Bob", "7"]),
        ("PEG", ["PEG", questions.NO_ANSWER, questions.NO_ANSWER]),
        ("PEG\n\nbecause", ["PEG", questions.NO_ANSWER, "because"]),
        ("neither\nEve\nbecause\nof that", ["neither", "Eve", "because\nof that"]),
    ],
)
def test_each_line_of_an_answer_answers_one_question(said: str, meant: list[str]) -> None:
    assert questions.split_answer([GRAMMAR, NAME, WHY], said) == meant


def test_a_single_question_gets_the_whole_answer() -> None:
    assert questions.split_answer([WHY], "because\nof that") == ["because\nof that"]
