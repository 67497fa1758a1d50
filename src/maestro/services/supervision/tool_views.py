"""List the tools that `tools/` knows, with their abilities."""

from __future__ import annotations

from typing import Any

import msgspec

from maestro.domain.callers import Caller
from maestro.operations import tools as ops
from maestro.store.base import Tx
from maestro.tools import registry
from maestro.tools.descriptor import ToolDescriptor


def _ability_fields(tool: ToolDescriptor) -> dict[str, Any]:
    abilities = tool.abilities
    return msgspec.structs.asdict(abilities) | {
        "drivers": list(abilities.drivers),
        "unreachable_during_turn": list(abilities.unreachable_during_turn),
    }


def list_tools(tx: Tx, caller: Caller, request: ops.ListTools) -> ops.ToolList:
    return ops.ToolList(
        tools=[
            ops.ToolInfo(name=tool.name, aliases=list(tool.aliases), **_ability_fields(tool))
            for tool in registry.TOOLS.values()
        ]
    )
