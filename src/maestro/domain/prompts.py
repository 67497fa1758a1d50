"""Live prompts: mail that Maestro also pushes to the agent at once."""

from __future__ import annotations

from maestro.domain.messages import Message, MessageType
from maestro.domain.priorities import Priority

PROMPT_TYPE = MessageType.DIRECTIVE
PROMPT_PRIORITY = Priority.HIGH
_SUBJECT_CHARS = 200


def prompt_subject(text: str) -> str:
    """Return the subject of a live prompt: the first line of its text."""
    lines = text.strip().splitlines()
    return lines[0][:_SUBJECT_CHARS] if lines else "Prompt"


def is_prompt(message: Message) -> bool:
    """Return whether a message looks like a live prompt.

    A false positive does no harm: such mail is pushed at the end of the turn.
    """
    return (
        message.type is PROMPT_TYPE
        and message.priority is PROMPT_PRIORITY
        and message.subject == prompt_subject(message.body)
    )
