"""All facts about Claude Code."""

from __future__ import annotations

from maestro.domain.conversations import DriverKind, StateReporter
from maestro.domain.manifests import AgentReach
from maestro.domain.members import Permission
from maestro.tools.base import Abilities
from maestro.tools.claude import launch
from maestro.tools.claude.connect import CONNECT
from maestro.tools.claude.environment import ENVIRONMENT
from maestro.tools.claude.hooks import DIALECT
from maestro.tools.descriptor import ToolDescriptor
from maestro.tools.levels import ToolLevels

DESCRIPTOR = ToolDescriptor(
    name="claude",
    title="Claude Code",
    aliases=("claude-code",),
    abilities=Abilities(
        prompt_while_busy=True,
        prompt_when_idle=True,
        asks_permission=True,
        reports_usage=True,
        resumes=True,
        loads_skills=True,
        confirms_prompts=True,
        exit_means_done=False,
        reach=AgentReach.COMMANDS,
        drivers={DriverKind.PROTOCOL: StateReporter.RUNNER, DriverKind.TERMINAL: StateReporter.HOOKS},
    ),
    prepare_launch=launch.prepare_launch,
    levels=ToolLevels(
        program="claude",
        models={"fast": "haiku", "balanced": "sonnet", "best": "opus"},
        permissions={  # arguments
            Permission.PLAN: ["--permission-mode", "manual", "--disallowedTools", "Edit,Write,NotebookEdit"],
            Permission.EDIT: ["--permission-mode", "acceptEdits"],
            # Maestro allows every permission request at once.
            Permission.FULL: ["--permission-mode", "acceptEdits"],
        },
    ),
    environment=ENVIRONMENT,
    settings_folder=".claude",
    hooks=DIALECT,
    connect=CONNECT,
    mcp_wait_seconds=1_700,
)
