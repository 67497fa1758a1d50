"""Placeholders in command lines for values that only the runner knows."""

from __future__ import annotations

CONVERSATION = "{maestro:conversation}"  # the tool's own id of the conversation


def filled(words: list[str], *, conversation: str) -> list[str]:
    """Return the command line with the placeholders replaced."""
    return [argument.replace(CONVERSATION, conversation) for argument in words]
