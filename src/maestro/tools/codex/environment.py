"""The environment variables of Codex. The command client loads this module, so the module stays light."""

from __future__ import annotations

from maestro.tools.tool_environment import ToolEnvironment

ENVIRONMENT = ToolEnvironment(
    agent_marks=("CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_THREAD_ID"),
    dropped_prefixes=("CODEX_",),
    kept_variables=("CODEX_HOME",),
)
