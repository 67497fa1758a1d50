"""Questions of programs to the user. Merges several questions into one, and splits the answer again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

NO_ANSWER = "(no answer)"
_INSTRUCTION = "Answer with one line for each question, in this order."


@dataclass(frozen=True)
class MergedQuestion:
    title: str
    text: str
    choices: tuple[str, ...]  # the choices of the first question


def merge_questions(questions: Sequence[dict[str, Any]]) -> MergedQuestion:
    """Return all questions as one question, with the options of each."""
    title = str(questions[0].get("question") or "The program asks a question.")
    if len(questions) == 1:
        return MergedQuestion(title, "\n".join(_options(questions[0])), _labels(questions[0]))
    lines: list[str] = []
    for number, question in enumerate(questions, 1):
        lines += [f"{number}. {question.get('question')}", *(f"   {option}" for option in _options(question))]
    return MergedQuestion(
        f"{title} (and {len(questions) - 1} more)", "\n".join([*lines, _INSTRUCTION]), _labels(questions[0])
    )


def split_answer(questions: Sequence[dict[str, Any]], answer: str) -> list[str]:
    """Return an answer for each question: a line each; all remaining lines belong to the last question."""
    last = len(questions) - 1
    lines = answer.strip().splitlines() if last else []
    found = [_answer_to(question, line.strip()) for question, line in zip(questions, lines[:last], strict=False)]
    rest = "\n".join(lines[last:]) if last else answer
    found += [_answer_to(questions[last], rest)] if rest else []
    return [*found, *[NO_ANSWER] * (len(questions) - len(found))]


def _answer_to(question: dict[str, Any], line: str) -> str:
    """Return the chosen label. A line may give a choice by its number or in another case."""
    labels = _labels(question)
    if line.isdecimal() and 0 < int(line) <= len(labels):
        return labels[int(line) - 1]
    return next((label for label in labels if label.lower() == line.lower()), line or NO_ANSWER)


def _options(question: dict[str, Any]) -> list[str]:
    return [f"{option.get('label')}: {option.get('description', '')}" for option in question.get("options") or ()]


def _labels(question: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(option.get("label")) for option in question.get("options") or ())
