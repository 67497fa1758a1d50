"""What programs ask their user, often several questions at once: as someone else can read it, and what was meant by
an answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

NO_ANSWER = "(no answer)"
_HOW = "Answer with one line for each question, in this order."


@dataclass(frozen=True)
class Question:
    title: str
    text: str
    choices: tuple[str, ...]  # of several questions, the first one's


def asked(questions: Sequence[dict[str, Any]]) -> Question:
    """All of them as one, with what can be chosen for each."""
    title = str(questions[0].get("question") or "It asks.")
    if len(questions) == 1:
        return Question(title, "\n".join(_options(questions[0])), _labels(questions[0]))
    lines: list[str] = []
    for number, one in enumerate(questions, 1):
        lines += [f"{number}. {one.get('question')}", *(f"   {option}" for option in _options(one))]
    return Question(f"{title} (and {len(questions) - 1} more)", "\n".join([*lines, _HOW]), _labels(questions[0]))


def answers(questions: Sequence[dict[str, Any]], said: str) -> list[str]:
    """An answer for each: a line, as far as there are lines; more of them belong to the last."""
    last = len(questions) - 1
    lines = said.strip().splitlines() if last else []
    found = [_meant(one, line.strip()) for one, line in zip(questions, lines[:last], strict=False)]
    rest = "\n".join(lines[last:]) if last else said
    found += [_meant(questions[last], rest)] if rest else []
    return [*found, *[NO_ANSWER] * (len(questions) - len(found))]


def _meant(question: dict[str, Any], line: str) -> str:
    """A choice may be said by its number."""
    labels = _labels(question)
    if line.isdecimal() and 0 < int(line) <= len(labels):
        return labels[int(line) - 1]
    return next((label for label in labels if label.lower() == line.lower()), line or NO_ANSWER)


def _options(question: dict[str, Any]) -> list[str]:
    return [f"{one.get('label')}: {one.get('description', '')}" for one in question.get("options") or ()]


def _labels(question: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(one.get("label")) for one in question.get("options") or ())
