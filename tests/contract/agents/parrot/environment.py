"""The environment variables of the parrot."""

from __future__ import annotations

from maestro.tools.tool_environment import ToolEnvironment

ENVIRONMENT = ToolEnvironment(
    agent_marks=("PARROT_RUNS",),
    dropped_prefixes=("PARROT_",),
    kept_variables=("PARROT_HOME",),
)
