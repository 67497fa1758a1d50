"""All facts about the tool `command`."""

from __future__ import annotations

from maestro.domain.conversations import DriverKind, StateReporter
from maestro.domain.manifests import AgentReach
from maestro.domain.members import COMMAND_TOOL
from maestro.tools.base import Abilities
from maestro.tools.command import launch
from maestro.tools.command.environment import ENVIRONMENT
from maestro.tools.descriptor import ToolDescriptor

DESCRIPTOR = ToolDescriptor(
    name=COMMAND_TOOL,
    title="any command",
    abilities=Abilities(
        prompt_while_busy=True,
        prompt_when_idle=True,
        asks_permission=False,
        reports_usage=False,
        resumes=False,
        loads_skills=False,
        confirms_prompts=False,
        exit_means_done=True,
        reach=AgentReach.COMMANDS,
        drivers={DriverKind.TERMINAL: StateReporter.NONE},
    ),
    prepare_launch=launch.prepare_launch,
    typed_prompt=launch.typed_prompt,
    environment=ENVIRONMENT,
)
