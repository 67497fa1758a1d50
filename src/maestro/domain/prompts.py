"""Live prompts: mail that is also said to an agent at once."""

from __future__ import annotations

from maestro.domain.messages import Message, Type
from maestro.domain.tasks import Priority

TYPE, PRIORITY = Type.DIRECTIVE, Priority.HIGH
_SUBJECT_CHARS = 200


def subject(text: str) -> str:
    """What a prompt is called in the mailbox: its first line."""
    lines = text.strip().splitlines()
    return lines[0][:_SUBJECT_CHARS] if lines else "Prompt"


def is_prompt(message: Message) -> bool:
    """Whether a message looks like a live prompt. Mail that only looks like one is no worse off: it wakes its reader
    at the end of the turn."""
    return message.type is TYPE and message.priority is PRIORITY and message.subject == subject(message.body)
