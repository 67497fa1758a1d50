"""The descriptor of a tool: one frozen value with all facts about the tool, `DESCRIPTOR` in its `descriptor.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from maestro.domain.manifests import AgentReach
from maestro.domain.members import Permission
from maestro.tools.base import Abilities, Launch, LaunchRequest, ModelWait
from maestro.tools.connect_support import ConnectSupport
from maestro.tools.hook_dialect import HookDialect
from maestro.tools.levels import ToolLevels
from maestro.tools.tool_environment import ToolEnvironment


def _refuse_typing(text: str) -> bytes | None:
    return None


@dataclass(frozen=True, kw_only=True)
class ToolDescriptor:
    """A tool: a kind of agent program."""

    name: str  # also the name of the tool's folder
    title: str  # the name of the program, for people
    abilities: Abilities
    # Returns command line and environment. The given environment has no variables of other agents any more.
    prepare_launch: Callable[[LaunchRequest, Mapping[str, str]], Launch]
    environment: ToolEnvironment
    aliases: tuple[str, ...] = ()
    # Returns the bytes to type into the terminal for a prompt, or None if prompts cannot be typed.
    typed_prompt: Callable[[str], bytes | None] = _refuse_typing
    # How the model waits for mail in a terminal; None if the program takes messages.
    model_wait: ModelWait | None = None
    levels: ToolLevels | None = None  # None: the tool has no model tiers and no permission levels
    settings_folder: str = ""  # the program runs commands that settings in this folder of a checkout name
    hooks: HookDialect | None = None
    connect: ConnectSupport | None = None
    mcp_wait_seconds: int | None = None  # how long the program waits for an MCP tool's answer, minus a margin

    def reach_with(self, permission: Permission) -> AgentReach:
        """Return how the agent calls Maestro with a permission level."""
        return self.abilities.reach
