"""Questions that Claude asks its user with the tool AskUserQuestion, and answers in Claude's format."""

from __future__ import annotations

from typing import Any

from maestro.tools.questions import MergedQuestion, merge_questions, split_answer

QUESTION_TOOL = "AskUserQuestion"


def find_question(tool: str, given: dict[str, Any]) -> MergedQuestion | None:
    """Return the question of a tool call, or None for other tools."""
    questions = given.get("questions")
    if tool != QUESTION_TOOL or not isinstance(questions, list) or not questions:
        return None
    return merge_questions(questions)


def answer_input(given: dict[str, Any], answer: str) -> dict[str, Any]:
    """Return the input of the tool call with the answers."""
    names = [str(question.get("question")) for question in given["questions"]]
    return {**given, "answers": dict(zip(names, split_answer(given["questions"], answer), strict=True))}
