"""All tools by name."""

from __future__ import annotations

from maestro.core import errors
from maestro.domain.talks import Driver
from maestro.tools.base import Agent, Waiter
from maestro.tools.claude.agent import Claude
from maestro.tools.codex.agent import Codex
from maestro.tools.command import Command
from maestro.tools.gemini.agent import Gemini

TOOLS: dict[str, Agent] = {agent.name: agent for agent in (Claude(), Codex(), Gemini(), Command())}


def find(name: str) -> Agent:
    """Return a tool by its name or an alias."""
    for agent in TOOLS.values():
        if name == agent.name or name in agent.aliases:
            return agent
    raise errors.NotFound(f"The agent tool {name!r} does not exist.", hint=f"Known tools: {', '.join(TOOLS)}.")


def deaf_at_work(tool: str | None) -> tuple[Driver, ...]:
    """Return the drivers with which no message reaches a tool's model during a turn."""
    agent = TOOLS.get(tool or "")
    return agent.abilities.deaf_at_work if agent is not None else ()


def waiter(tool: str, driver: Driver) -> Waiter | None:
    """Return how a tool's model waits for mail, or None if its program takes messages."""
    agent = TOOLS.get(tool)
    return agent.waiter if agent is not None and driver is Driver.TERMINAL else None
