"""The environment variables of Claude Code. The command client loads this module, so the module stays light."""

from __future__ import annotations

from maestro.tools.tool_environment import ToolEnvironment

ENVIRONMENT = ToolEnvironment(
    agent_marks=("CLAUDECODE",),
    dropped_prefixes=("CLAUDECODE", "CLAUDE_", "ANTHROPIC_"),
    kept_variables=("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "CLAUDE_CONFIG_DIR"),
)
