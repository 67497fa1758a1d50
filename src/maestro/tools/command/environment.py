"""The environment variables of the tool `command`: none are known."""

from __future__ import annotations

from maestro.tools.tool_environment import ToolEnvironment

ENVIRONMENT = ToolEnvironment()
