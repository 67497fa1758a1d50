"""Runners are many: what they load for a conversation is little."""

from __future__ import annotations

import subprocess
import sys

import pytest

_HEAVY = ("msgspec", "asyncio", "pathlib", "maestro.domain", "maestro.store", "maestro.server", "maestro.services")


@pytest.mark.parametrize("tool", ["claude", "codex", "gemini"])
def test_a_conversation_needs_nothing_heavy(tool: str) -> None:
    code = (
        f"import sys, maestro.runner.forker, maestro.tools.{tool}.conversation as found\n"
        f"print([name for name in {_HEAVY!r} if name in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert told.stdout.strip() == "[]"
