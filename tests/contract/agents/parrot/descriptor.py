"""The descriptor of the parrot: all facts about the tool."""

from __future__ import annotations

from maestro.tools.parrot import launch
from maestro.tools.parrot.connect import CONNECT
from maestro.tools.parrot.environment import ENVIRONMENT
from maestro.tools.parrot.hooks import DIALECT

from maestro.domain.conversations import DriverKind, StateReporter
from maestro.domain.manifests import AgentReach
from maestro.domain.members import Permission
from maestro.tools.base import Abilities
from maestro.tools.descriptor import ToolDescriptor
from maestro.tools.levels import ToolLevels

DESCRIPTOR = ToolDescriptor(
    name="parrot",
    title="Parrot",
    aliases=("parrot-cli",),
    abilities=Abilities(
        prompt_while_busy=True,
        prompt_when_idle=True,
        asks_permission=False,
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
        program="parrot",
        models={"fast": "budgie", "balanced": "cockatiel", "best": "macaw"},
        permissions={Permission.PLAN: ["caged"], Permission.EDIT: ["clipped"], Permission.FULL: ["free"]},
    ),
    environment=ENVIRONMENT,
    settings_folder=".parrot",
    hooks=DIALECT,
    connect=CONNECT,
    mcp_wait_seconds=60,
)
