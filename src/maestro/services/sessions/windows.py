"""Keep the last prompt of the person to a session: the person tells windows apart by their prompts."""

from __future__ import annotations

from maestro.core import limits
from maestro.store.base import Tx
from maestro.text import redaction


def record_prompt(tx: Tx, session_id: str, *, directory: str, prompt: str) -> None:
    """Record the beginning of a prompt of the person to a session, on one line."""
    beginning = redaction.hide_tokens(" ".join(prompt[: limits.prompt_read_chars_max].split()))
    tx.windows.set_prompt(session_id, directory=directory, last_prompt=beginning[: limits.prompt_beginning_chars_max])
