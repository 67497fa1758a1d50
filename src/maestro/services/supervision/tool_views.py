"""List the tools that `tools/` knows, with their abilities."""

from __future__ import annotations

from typing import Any

import msgspec

from maestro.domain.callers import Caller
from maestro.operations import tools as ops
from maestro.store.base import Tx
from maestro.tools import registry
from maestro.tools.base import AgentTool


def _ability_fields(tool: AgentTool) -> dict[str, Any]:
    abilities = tool.abilities
    return msgspec.structs.asdict(abilities) | {
        "drivers": list(abilities.drivers),
        "deaf_at_work": list(abilities.deaf_at_work),
    }


def list_tools(tx: Tx, caller: Caller, request: ops.ListTools) -> ops.ToolList:
    return ops.ToolList(
        tools=[
            ops.ToolInfo(name=tool.name, aliases=list(tool.aliases), **_ability_fields(tool))
            for tool in registry.TOOLS.values()
        ]
    )
