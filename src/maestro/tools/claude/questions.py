"""What Claude asks its user with a tool of its own, and an answer as it takes it."""

from __future__ import annotations

from typing import Any

from maestro.tools.questions import Question, answers, asked

TOOL = "AskUserQuestion"


def question(tool: str, given: dict[str, Any]) -> Question | None:
    """The question that a tool call is, if it is one."""
    questions = given.get("questions")
    if tool != TOOL or not isinstance(questions, list) or not questions:
        return None
    return asked(questions)


def answered(given: dict[str, Any], said: str) -> dict[str, Any]:
    """The tool call as it is to be carried out."""
    names = [str(one.get("question")) for one in given["questions"]]
    return {**given, "answers": dict(zip(names, answers(given["questions"], said), strict=True))}
