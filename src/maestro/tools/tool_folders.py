"""The folders of all tools. A new tool is a folder beside this module and one line here (docs/adding-a-tool.md).

The command client loads this module, so the module stays light.
"""

from __future__ import annotations

import importlib
from typing import Any

TOOL_FOLDERS = (
    "claude",
    "codex",
    "gemini",
    "command",
)


def load_parts(module: str, name: str) -> list[Any]:
    """Return a value from the same module of each tool's folder, for example `DESCRIPTOR` from `descriptor`."""
    return [getattr(importlib.import_module(f"maestro.tools.{folder}.{module}"), name) for folder in TOOL_FOLDERS]
