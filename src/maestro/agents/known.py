"""Every tool there is, by name."""

from __future__ import annotations

from maestro import errors
from maestro.agents.base import Agent
from maestro.agents.claude.agent import Claude
from maestro.agents.codex.agent import Codex
from maestro.agents.command import Command
from maestro.agents.gemini.agent import Gemini

TOOLS: dict[str, Agent] = {agent.name: agent for agent in (Claude(), Codex(), Gemini(), Command())}


def find(name: str) -> Agent:
    """A tool by its name or an old one."""
    for agent in TOOLS.values():
        if name == agent.name or name in agent.aliases:
            return agent
    raise errors.NotFound(f"There is no agent tool {name!r}.", hint=f"There are: {', '.join(TOOLS)}.")
