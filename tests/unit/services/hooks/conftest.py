"""Import the fixtures of `conversations/conftest.py` for the tests of hooks."""

from __future__ import annotations

from tests.unit.services.conversations.conftest import (
    busy_program,
    hooks,
    in_terminal,
    program,
    self_waiting,
    terminal,
)

__all__ = ["busy_program", "hooks", "in_terminal", "program", "self_waiting", "terminal"]
