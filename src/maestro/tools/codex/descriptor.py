"""All facts about Codex."""

from __future__ import annotations

from maestro.domain.conversations import DriverKind, StateReporter
from maestro.domain.manifests import AgentReach
from maestro.domain.members import Permission
from maestro.tools.base import Abilities
from maestro.tools.codex import launch
from maestro.tools.codex.connect import CONNECT
from maestro.tools.codex.environment import ENVIRONMENT
from maestro.tools.codex.hooks import DIALECT
from maestro.tools.descriptor import ToolDescriptor
from maestro.tools.levels import ToolLevels

DESCRIPTOR = ToolDescriptor(
    name="codex",
    title="Codex",
    abilities=Abilities(
        prompt_while_busy=True,
        prompt_when_idle=True,
        asks_permission=True,
        reports_usage=True,
        resumes=True,
        loads_skills=True,
        confirms_prompts=True,
        exit_means_done=False,
        # Codex's sandbox keeps the shell from all sockets. Without a sandbox the shell is a login shell, and its
        # profile may set another PATH.
        reach=AgentReach.MCP,
        drivers={DriverKind.PROTOCOL: StateReporter.RUNNER, DriverKind.TERMINAL: StateReporter.RUNNER},
    ),
    prepare_launch=launch.prepare_launch,
    levels=ToolLevels(
        program="codex",
        models={"fast": "gpt-6-luna", "balanced": "gpt-6.1-terra", "best": "gpt-6.1-sol"},
        permissions={  # the sandbox, and the approval policy
            Permission.PLAN: ["read-only", "on-request"],
            Permission.EDIT: ["workspace-write", "on-request"],
            Permission.FULL: ["danger-full-access", "never"],
        },
    ),
    environment=ENVIRONMENT,
    settings_folder=".codex",
    hooks=DIALECT,
    connect=CONNECT,
    mcp_wait_seconds=280,
)
