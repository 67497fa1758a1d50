"""All tools by name."""

from __future__ import annotations

from maestro.core import errors
from maestro.domain.conversations import DriverKind
from maestro.tools.base import AgentTool, ModelWait
from maestro.tools.claude.launch import ClaudeTool
from maestro.tools.codex.launch import CodexTool
from maestro.tools.command import CommandTool
from maestro.tools.gemini.launch import GeminiTool

TOOLS: dict[str, AgentTool] = {
    agent.name: agent for agent in (ClaudeTool(), CodexTool(), GeminiTool(), CommandTool())
}


def find_tool(name: str) -> AgentTool:
    """Return a tool by its name or an alias."""
    for agent in TOOLS.values():
        if name == agent.name or name in agent.aliases:
            return agent
    raise errors.NotFound(f"The agent tool {name!r} does not exist.", hint=f"Known tools: {', '.join(TOOLS)}.")


def drivers_deaf_at_work(tool: str | None) -> tuple[DriverKind, ...]:
    """Return the drivers with which no message reaches a tool's model during a turn."""
    agent = TOOLS.get(tool or "")
    return agent.abilities.deaf_at_work if agent is not None else ()


def find_model_wait(tool: str, driver: DriverKind) -> ModelWait | None:
    """Return how a tool's model waits for mail, or None if its program takes messages."""
    agent = TOOLS.get(tool)
    return agent.model_wait if agent is not None and driver is DriverKind.TERMINAL else None
