"""Asks: questions and permission requests of agents to the person, open until answered."""

from __future__ import annotations

import enum
from datetime import datetime

import msgspec

from maestro.core import errors, limits


class AskKind(enum.StrEnum):
    """What an ask is for."""

    QUESTION = "question"
    PERMISSION = "permission"


class AskStatus(enum.StrEnum):
    """Whether an ask still waits for an answer."""

    OPEN = "open"
    ANSWERED = "answered"
    WITHDRAWN = "withdrawn"


class AskChoice(msgspec.Struct, frozen=True):
    """A choice of an ask on whose answer the server acts."""

    code: str  # stored with the ask; the server acts on the code
    text: str  # shown to the person


ALLOW, DENY = "allow", "deny"  # the choices of a permission ask


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """A question or permission request to the person."""

    id: str
    project_id: str
    session_id: str | None
    asked_by: str  # the session's name
    kind: AskKind
    title: str
    text: str
    choices: list[str]
    task_id: str | None
    message_id: str | None
    status: AskStatus
    answer: str | None
    answered_by: str | None
    created_at: datetime
    answered_at: datetime | None
    in_own_window: bool = False  # the person answers in the session's own window, not in Maestro
    window: str = ""  # the terminal and the directory of the session's window


def resolve_answer(ask: Ask, text: str) -> str:
    """Return the answer that the text means: a choice, given by number or by its beginning in any case, or free text.

    Free text answers only a question of a session, because a session can read it. The server's own asks accept only
    their choices.
    """
    text = text.strip()
    if not text:
        raise errors.Invalid("The answer is empty.", hint=_answer_hint(ask))
    if not ask.choices:
        return text
    if text.isdecimal() and 0 < int(text) <= len(ask.choices):
        return ask.choices[int(text) - 1]
    equal = [choice for choice in ask.choices if choice.lower() == text.lower()]
    matches = equal or [choice for choice in ask.choices if choice.lower().startswith(text.lower())]
    if len(matches) == 1:
        return matches[0]
    if text.isdecimal() and int(text) <= limits.choices_max:
        # A small number is meant as a choice, also where free text would be an answer.
        raise errors.Invalid(f"There is no choice {int(text)}.", hint=_answer_hint(ask))
    if ask.kind is AskKind.QUESTION and ask.session_id is not None:
        return text
    raise errors.Invalid(f"{text!r} is not one of the choices.", hint=_answer_hint(ask))


def require_answerable(ask: Ask) -> None:
    """Refuse an answer to an ask that waits only in the session's own window."""
    if ask.in_own_window and ask.status is AskStatus.OPEN:
        raise errors.Conflict(
            f"{ask.asked_by} waits for the answer in its own window, and takes no answer from Maestro.",
            hint=f"Answer in its own window: {ask.window}." if ask.window else "Answer in its own window.",
        )


def require_open(ask: Ask) -> None:
    if ask.status is not AskStatus.OPEN:
        raise errors.Conflict(
            f"Ask {ask.id} is already {ask.status}.", data={"status": ask.status, "answer": ask.answer}
        )


def _answer_hint(ask: Ask) -> str:
    return f"Answer with one of: {', '.join(ask.choices)}." if ask.choices else "Write the answer as a text."
