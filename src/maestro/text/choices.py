"""Write a list of choices for a sentence."""

from __future__ import annotations

from collections.abc import Iterable


def join_choices(choices: Iterable[str]) -> str:
    """Return the choices for a sentence: "claude, codex or gemini"."""
    *others, last = choices
    return f"{', '.join(others)} or {last}" if others else last
