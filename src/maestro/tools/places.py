"""What stands in a command line for what only the runner knows, when it starts the program."""

from __future__ import annotations

CONVERSATION = "{maestro:conversation}"  # what the tool itself calls it


def filled(words: list[str], *, conversation: str) -> list[str]:
    """A command line with the thing itself."""
    return [word.replace(CONVERSATION, conversation) for word in words]
