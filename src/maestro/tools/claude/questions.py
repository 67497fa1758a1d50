"""Questions that Claude asks its user with the tool AskUserQuestion, and answers in Claude's format."""

from __future__ import annotations

from typing import Any

from maestro.tools.questions import Question, answers, asked

TOOL = "AskUserQuestion"


def question(tool: str, given: dict[str, Any]) -> Question | None:
    """Return the question of a tool call, or None for other tools."""
    questions = given.get("questions")
    if tool != TOOL or not isinstance(questions, list) or not questions:
        return None
    return asked(questions)


def answered(given: dict[str, Any], said: str) -> dict[str, Any]:
    """Return the input of the tool call with the answers."""
    names = [str(question.get("question")) for question in given["questions"]]
    return {**given, "answers": dict(zip(names, answers(given["questions"], said), strict=True))}
