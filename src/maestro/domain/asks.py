"""What agents ask of people: a question or a permission, open until it is answered."""

from __future__ import annotations

import enum
from datetime import datetime

import msgspec

from maestro.core import errors


class Kind(enum.StrEnum):
    """What is asked for."""

    QUESTION = "question"
    PERMISSION = "permission"


class Status(enum.StrEnum):
    """Where a request stands."""

    OPEN = "open"
    ANSWERED = "answered"
    WITHDRAWN = "withdrawn"


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """One request to the person."""

    id: str
    project_id: str
    session_id: str | None
    asked_by: str  # the session's name
    kind: Kind
    title: str
    text: str
    choices: list[str]
    task_id: str | None
    message_id: str | None
    status: Status
    answer: str | None
    answered_by: str | None
    created_at: datetime
    answered_at: datetime | None


def chosen(ask: Ask, said: str) -> str:
    """Return the answer that was meant: a choice in any case, by its number or its beginning; else free text.

    Free text answers only a question of a session, which can read it. The server understands its own choices alone.
    """
    said = said.strip()
    if not said:
        raise errors.Invalid("An answer is needed.", hint=_offered(ask))
    if not ask.choices:
        return said
    if said.isdecimal() and 0 < int(said) <= len(ask.choices):
        return ask.choices[int(said) - 1]
    same = [choice for choice in ask.choices if choice.lower() == said.lower()]
    begins = same or [choice for choice in ask.choices if choice.lower().startswith(said.lower())]
    if len(begins) == 1:
        return begins[0]
    if ask.kind is Kind.QUESTION and ask.session_id is not None:
        return said
    raise errors.Invalid(f"{said!r} is not one of the choices.", hint=_offered(ask))


def require_open(ask: Ask) -> None:
    if ask.status is not Status.OPEN:
        raise errors.Conflict(f"This was {ask.status} already.", data={"status": ask.status, "answer": ask.answer})


def _offered(ask: Ask) -> str:
    return f"Say one of: {', '.join(ask.choices)}." if ask.choices else "Say it in your own words."
