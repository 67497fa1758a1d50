"""Runners and clients load no heavy modules, because many of them run at once."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec

import pytest

from maestro.tools import tool_folders

_HEAVY = ("msgspec", "asyncio", "pathlib", "maestro.domain", "maestro.store", "maestro.server", "maestro.services")


CONVERSING = [tool for tool in tool_folders.TOOL_FOLDERS if find_spec(f"maestro.tools.{tool}.conversation")]


@pytest.mark.parametrize("tool", CONVERSING)
def test_a_conversation_loads_no_heavy_module(tool: str) -> None:
    code = (
        f"import sys, maestro.runner.forker, maestro.tools.{tool}.conversation as found\n"
        f"print([name for name in {_HEAVY!r} if name in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert told.stdout.strip() == "[]"


def test_the_client_loads_no_heavy_module_for_agent_marks() -> None:
    heavy = ("msgspec", "asyncio", "maestro.domain", "maestro.tools.registry")
    code = f"import sys, maestro.client.server_start\nprint([name for name in {heavy!r} if name in sys.modules])"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert told.stdout.strip() == "[]"
