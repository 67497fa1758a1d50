"""The agent programs (tools) that Maestro supports, and their abilities."""

from __future__ import annotations

import msgspec

from maestro.domain.callers import Callers
from maestro.domain.conversations import DriverKind
from maestro.domain.manifests import AgentReach
from maestro.operations.base import GET, CommandSyntax, Effect, Operation, Request


class ListTools(Request, frozen=True, kw_only=True):
    pass


class ToolInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A tool and its abilities."""

    name: str
    aliases: list[str]
    prompt_while_busy: bool
    prompt_when_idle: bool
    asks_permission: bool
    reports_usage: bool
    resumes: bool
    loads_skills: bool
    confirms_prompts: bool
    exit_means_done: bool
    reach: AgentReach
    drivers: list[DriverKind]
    unreachable_during_turn: list[DriverKind]


class ToolList(msgspec.Struct, frozen=True, kw_only=True):
    tools: list[ToolInfo]


LIST = Operation(
    "tool.list",
    ListTools,
    ToolList,
    callers=Callers.KNOWN,
    http=GET("/api/tools"),
    summary="List the supported agent programs and their abilities.",
    effect=Effect.READ,
    command=CommandSyntax("tool list"),
    examples=("maestro tool list",),
)

ALL = (LIST,)
