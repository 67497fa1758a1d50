"""All facts about Gemini CLI."""

from __future__ import annotations

from maestro.domain.conversations import DriverKind, StateReporter
from maestro.domain.manifests import AgentReach
from maestro.domain.members import Permission
from maestro.tools.base import Abilities
from maestro.tools.descriptor import ToolDescriptor
from maestro.tools.gemini import launch
from maestro.tools.gemini.connect import CONNECT
from maestro.tools.gemini.environment import ENVIRONMENT
from maestro.tools.gemini.hooks import DIALECT
from maestro.tools.gemini.waiting import MODEL_WAIT
from maestro.tools.levels import ToolLevels

DESCRIPTOR = ToolDescriptor(
    name="gemini",
    title="Gemini CLI",
    aliases=("gemini-cli",),
    abilities=Abilities(
        prompt_while_busy=False,
        prompt_when_idle=True,
        asks_permission=True,
        reports_usage=True,
        resumes=True,
        loads_skills=False,
        confirms_prompts=True,
        exit_means_done=False,
        reach=AgentReach.COMMANDS,
        drivers={DriverKind.PROTOCOL: StateReporter.RUNNER, DriverKind.TERMINAL: StateReporter.HOOKS},
        unreachable_during_turn=(DriverKind.PROTOCOL,),  # with the protocol, Gemini's tool hooks do not fire
    ),
    prepare_launch=launch.prepare_launch,
    model_wait=MODEL_WAIT,
    levels=ToolLevels(
        program="gemini",
        models={
            "fast": "gemini-3.5-flash-lite",
            "balanced": "gemini-3.8-flash",
            "best": "gemini-3.1-pro-preview",
        },
        permissions={  # the approval mode; the mode `plan` of Gemini would block Maestro's tools
            Permission.PLAN: ["default"],
            Permission.EDIT: ["autoEdit"],
            Permission.FULL: ["yolo"],
        },
    ),
    environment=ENVIRONMENT,
    settings_folder=".gemini",
    hooks=DIALECT,
    connect=CONNECT,
    mcp_wait_seconds=570,
)
