"""The environment variables of all tools. The command client loads this module, so the module stays light."""

from __future__ import annotations

from collections.abc import Mapping

from maestro.tools.tool_environment import ToolEnvironment
from maestro.tools.tool_folders import load_parts

ENVIRONMENTS: list[ToolEnvironment] = load_parts("environment", "ENVIRONMENT")
AGENT_MARKS = tuple(mark for tool in ENVIRONMENTS for mark in tool.agent_marks)
# Besides the tools' own variables: those of Maestro's sessions, and of programs that are no tools of Maestro.
_DROPPED_PREFIXES = (
    *(prefix for tool in ENVIRONMENTS for prefix in tool.dropped_prefixes),
    "MAESTRO_",
    "OPENCODE_",
    "AIDER_",
)
_KEPT_VARIABLES = frozenset(name for tool in ENVIRONMENTS for name in tool.kept_variables)


def clear_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment without variables of another agent's run. API keys and configuration folders stay."""
    return {
        name: value
        for name, value in environment.items()
        if name in _KEPT_VARIABLES or not name.startswith(_DROPPED_PREFIXES)
    }
