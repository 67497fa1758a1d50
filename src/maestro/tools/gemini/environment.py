"""The environment variables of Gemini CLI. The command client loads this module, so the module stays light."""

from __future__ import annotations

from maestro.tools.tool_environment import ToolEnvironment

ENVIRONMENT = ToolEnvironment(
    agent_marks=("GEMINI_CLI",),
    dropped_prefixes=("GEMINI_CLI",),
    kept_variables=("GEMINI_CLI_HOME",),
)
