"""All tools by name, from the descriptors in their folders (`tool_folders.py` lists the folders).

Enums, help and documentation derive from this module. No module in a tool's folder imports it.
"""

from __future__ import annotations

import enum
from pathlib import Path

from maestro.core import errors
from maestro.domain.conversations import DriverKind
from maestro.tools import levels
from maestro.tools.base import ModelWait
from maestro.tools.connect_support import ConnectSupport
from maestro.tools.descriptor import ToolDescriptor
from maestro.tools.hook_dialect import HookDialect
from maestro.tools.tool_folders import load_parts

TOOLS: dict[str, ToolDescriptor] = {tool.name: tool for tool in load_parts("descriptor", "DESCRIPTOR")}
DIALECTS: dict[str, HookDialect] = {name: tool.hooks for name, tool in TOOLS.items() if tool.hooks}
CONNECTABLE: dict[str, ConnectSupport] = {name: tool.connect for name, tool in TOOLS.items() if tool.connect}
LEVELS: dict[str, levels.ToolLevels] = {name: tool.levels for name, tool in TOOLS.items() if tool.levels}
SETTINGS_FOLDERS = frozenset(tool.settings_folder for tool in TOOLS.values() if tool.settings_folder)


class Tool(enum.StrEnum):
    """The name of a tool."""

    vars().update((name.upper(), name) for name in TOOLS)


TOOL_ALIASES = {alias: Tool(tool.name) for tool in TOOLS.values() for alias in tool.aliases}


def find_tool(name: str) -> ToolDescriptor:
    """Return a tool by its name or an alias."""
    for tool in TOOLS.values():
        if name == tool.name or name in tool.aliases:
            return tool
    raise errors.NotFound(f"The agent tool {name!r} does not exist.", hint=f"Known tools: {', '.join(TOOLS)}.")


def drivers_unreachable_during_turn(name: str | None) -> tuple[DriverKind, ...]:
    """Return the drivers with which no message reaches a tool's model during a turn."""
    tool = TOOLS.get(name or "")
    return tool.abilities.unreachable_during_turn if tool is not None else ()


def find_model_wait(name: str, driver: DriverKind) -> ModelWait | None:
    """Return how a tool's model waits for mail, or None if its program takes messages."""
    tool = TOOLS.get(name)
    return tool.model_wait if tool is not None and driver is DriverKind.TERMINAL else None


def read_levels(name: str, home: Path | None) -> levels.ToolLevels:
    """Return a tool's levels, with the user's overrides in the data directory. Some tools have no levels."""
    return levels.read_levels(name, home, LEVELS) if name in LEVELS else levels.ToolLevels()
