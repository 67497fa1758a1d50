"""The agents of a project, and whether an agent is online."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from maestro.core import limits
from maestro.core.errors import NotFound
from maestro.domain.callers import Callers
from maestro.domain.presence import Agent
from maestro.operations import fields
from maestro.operations.base import GET, CommandSyntax, Effect, InProject, Operation


class ListAgents(InProject, frozen=True, kw_only=True):
    online: Annotated[bool, Meta(description="Only online agents; exits with 1 if no agent is online.")] = False
    everywhere: Annotated[bool, Meta(description="In all projects.")] = False
    limit: fields.Limit = limits.page_items_default


class AgentList(msgspec.Struct, frozen=True, kw_only=True):
    """Agents, online agents first. `reached` is false when only online agents were wanted and no agent is online."""

    agents: list[Agent]
    online: int
    reached: bool = True
    truncated: bool = False


LIST = Operation(
    "agent.list",
    ListAgents,
    AgentList,
    callers=Callers.KNOWN,
    http=GET("/api/agents"),
    summary="List the agents of a project: whether each is online, when it was last seen, what it works on.",
    effect=Effect.READ,
    command=CommandSyntax("agent list"),
    examples=("maestro agent list --project beads", "maestro agent list --project beads --online"),
    errors=(NotFound,),
)

ALL = (LIST,)
