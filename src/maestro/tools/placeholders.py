"""Placeholders in command lines for values that only the runner knows."""

from __future__ import annotations

CONVERSATION_PLACEHOLDER = "{maestro:conversation}"  # the tool's own id of the conversation


def fill_placeholders(arguments: list[str], *, conversation: str) -> list[str]:
    """Return the command line with the placeholders replaced."""
    return [argument.replace(CONVERSATION_PLACEHOLDER, conversation) for argument in arguments]
