"""What Claude asks its user with a tool of its own: as someone else can read it, and their answer as it takes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

TOOL = "AskUserQuestion"


@dataclass(frozen=True)
class Question:
    title: str
    text: str
    choices: tuple[str, ...]


def question(tool: str, given: dict[str, Any]) -> Question | None:
    """The question that a tool call is, if it is one."""
    questions = given.get("questions")
    if tool != TOOL or not isinstance(questions, list) or not questions:
        return None
    options = questions[0].get("options") or ()
    lines = [f"{one.get('label')}: {one.get('description', '')}" for one in options]
    rest = [str(one.get("question")) for one in questions[1:]]
    choices = tuple(str(one.get("label")) for one in options)
    return Question(str(questions[0].get("question")), "\n".join([*lines, *rest]), choices)


def answered(given: dict[str, Any], choice: str) -> dict[str, Any]:
    """The tool call as it is to be carried out."""
    return {**given, "answers": {str(one.get("question")): choice for one in given["questions"]}}
